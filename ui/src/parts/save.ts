/** A text as a file that the browser keeps. */

/** Have the browser save a text under a name. */
export function saveText(name: string, text: string, type = "text/markdown"): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
