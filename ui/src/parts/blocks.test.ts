import { describe, expect, test } from "vitest";
import { blocksOf, codeOf, htmlOf, normal, settledLength } from "./blocks";

const html = (text: string) => blocksOf(text).map(htmlOf).join("");

const LONG = "# Herons\n\nTwo *grey* ones.\n\n- one\n- two\n\n```python\nprint(1)\n\nprint(2)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end.";

describe("blocks", () => {
  test("are the whole text, cut into pieces", () => {
    expect(blocksOf(LONG).map((block) => block.raw).join("")).toBe(LONG);
  });

  test("that are settled stay the same however the text goes on", () => {
    for (let length = 1; length < LONG.length; length += 1) {
      const text = LONG.slice(0, length);
      const settled = settledLength(blocksOf(text));
      const apart = html(text.slice(0, settled)) + html(LONG.slice(settled));
      expect(apart).toBe(html(LONG));
    }
  });

  test("know their code, also while its end has not come", () => {
    expect(codeOf(blocksOf("```Python title\nprint(1)")[0]!)).toEqual({ text: "print(1)", language: "python" });
    expect(codeOf(blocksOf("words")[0]!)).toBeNull();
  });

  test("have one kind of line end", () => {
    expect(normal("a\r\nb\rc")).toBe("a\nb\nc");
  });
});

describe("what a model writes", () => {
  test("is no HTML of ours", () => {
    expect(html("<script>alert(1)</script>")).not.toContain("<script");
    expect(html("a <img src=x onerror=alert(1)> b")).not.toContain("<img");
  });

  test("links to the web in another tab, and to nothing that runs", () => {
    expect(html("[a](https://example.org)")).toContain('rel="noopener noreferrer"');
    expect(html("[a](javascript:alert(1))")).not.toContain("href");
    expect(html("[a](//example.org/x)")).not.toContain("href");
  });

  test("shows pictures of the workspace, and only links those of elsewhere", () => {
    expect(html("![Plot](out/plot.png)")).toContain("/api/files/content?path=out%2Fplot.png&#38;inline=true");
    expect(html("![x](https://example.org/x.png)")).not.toContain("<img");
    expect(html("![x](data:image/png;base64,AAAA)")).not.toContain("<img");
  });

  test("has headings below those of the page, whatever their level", () => {
    expect(html("# A\n\n#### *B*")).toBe('<h2 class="heading-1">A</h2><h2 class="heading-3"><em>B</em></h2>');
  });

  test("may lead to a file of the workspace", () => {
    expect(html("[report](./out/report.md)")).toContain('href="/api/files/content?path=out%2Freport.md" download');
  });
});
