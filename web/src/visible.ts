// Names and sentences come from workers.  A character that is not seen but changes the order of
// those around it could make one name look like another, so it is shown as \u202e.

const UNSEEN = /[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

// `json` as the server wrote it; such characters are only in its strings.
export function visible(json: string): string {
  return json.replace(UNSEEN, (c) => `\\\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
