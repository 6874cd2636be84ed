/** Pictures of the workspace that a text names. Pure. */

const PICTURE = /(?:^|[\s"'`(<:=[])((?:\/workspace\/|\.\/)?[\w][\w./-]*\.(?:png|jpe?g|gif|webp|svg))(?=$|[\s"'`)>,.:;\]])/gi;
const MOST = 4;

/** Whether a path names a picture, by its ending. */
export function isPicture(path: string): boolean {
  return /\.(?:png|jpe?g|gif|webp|svg)$/i.test(path);
}

/** Their paths as the workspace knows them, each once; an address of the web is none. */
export function picturesIn(text: string): string[] {
  const found = new Set<string>();
  for (const [, path = ""] of text.matchAll(PICTURE)) {
    const plain = path.replace(/^\/workspace\//, "").replace(/^\.\//, "");
    if (!plain.includes("..")) found.add(plain);
    if (found.size === MOST) break;
  }
  return [...found];
}
