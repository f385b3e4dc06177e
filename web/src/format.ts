// Figures as people read them.

const whole = new Intl.NumberFormat("en-US");

export function count(n: number): string {
  return whole.format(n);
}

// Three digits that matter: 0.42, 7.31, 48.2, 912, 12.3 k.
export function short(n: number): string {
  if (n === 0) return "0";
  if (n < 0.01) return "<0.01";
  if (n < 10) return n.toFixed(2);
  if (n < 100) return n.toFixed(1);
  if (n < 10_000) return whole.format(Math.round(n));
  if (n < 1e6) return `${(n / 1e3).toFixed(1)} k`;
  if (n < 1e9) return `${(n / 1e6).toFixed(1)} M`;
  return `${(n / 1e9).toFixed(1)} G`;
}

export function bytes(n: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  while (n >= 1000 && unit < units.length - 1) {
    n /= 1000;
    unit++;
  }
  return `${unit === 0 ? n : n.toFixed(n < 10 ? 2 : n < 100 ? 1 : 0)} ${units[unit]}`;
}

export function milliseconds(ms: number): string {
  if (ms < 1) return `${Math.max(1, Math.round(ms * 1000))} µs`;
  if (ms < 1000) return `${short(ms)} ms`;
  return `${short(ms / 1000)} s`;
}

// How long: 0.4 s, 12 s, 3 min 05 s, 2 h 10 min, 5 d.
export function duration(ms: number): string {
  const s = Math.max(0, ms) / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.floor(s)} s`;
  const two = (n: number): string => String(Math.floor(n)).padStart(2, "0");
  if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${two((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

export function clock(when: number): string {
  return new Date(when).toLocaleTimeString([], { hour12: false });
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
