// Dark or light: as the system has it, unless one is chosen, which this browser remembers.

export type Theme = "system" | "light" | "dark";

const KEY = "roar-theme";
const ORDER: Theme[] = ["system", "light", "dark"];

export function theme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function nextTheme(current: Theme): Theme {
  return ORDER[(ORDER.indexOf(current) + 1) % ORDER.length] as Theme;
}

export function setTheme(chosen: Theme): void {
  if (chosen === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, chosen);
  document.documentElement.dataset["theme"] = chosen;
}
