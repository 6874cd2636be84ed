"""The page of files: brought, looked at, replaced, taken and deleted."""

from pathlib import Path

from tests.e2e.window.windows import choose, says

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d494844520000000100000001080600000"
    "01f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
DROP = """() => {
  const data = new DataTransfer();
  data.items.add(new File(["# Herons"], "notes.md"));
  const drop = new DragEvent("drop", { dataTransfer: data, bubbles: true });
  document.querySelector(".drop").dispatchEvent(drop);
}"""


def test_files_are_brought_looked_at_taken_and_deleted(windows):
    page = windows.open("files")
    says(page, "No files yet.")
    choose(page, "birds.csv", b'name,count\nheron,3\n"swan, white",12\n')
    page.click(".file-link:has-text('birds.csv')")
    page.wait_for_selector("td:has-text('swan, white')")
    page.get_by_role("tab", name="Text").click()
    page.wait_for_selector("pre:has-text('name,count')")
    with page.expect_download() as download:
        page.click("a:has-text('Download')")
    assert Path(download.value.path()).read_bytes().startswith(b"name,count")

    page.click("button:has-text('Delete')")
    page.click("dialog button:has-text('Delete')")
    says(page, "No files yet.")
    assert windows.ask("GET", "/api/files")["files"] == []


def test_a_file_is_replaced_only_when_somebody_says_so(windows):
    page = windows.open("files")
    choose(page, "a.txt", b"old")
    page.wait_for_selector(".file:has-text('3 B')")
    choose(page, "a.txt", b"newer")
    page.click("dialog button:has-text('Keep existing')")
    page.wait_for_selector("dialog", state="detached")
    assert windows.ask("GET", "/api/files")["files"][0]["size"] == 3
    choose(page, "a.txt", b"newer")
    page.click("dialog button:has-text('Replace')")

    page.wait_for_selector(".file:has-text('5 B')")


def test_dropped_files_and_pictures_are_shown_and_other_bytes_are_explained(windows):
    page = windows.open("files")
    says(page, "No files yet.")
    page.evaluate(DROP, isolated_context=False)
    page.click(".file-link:has-text('notes.md')")
    page.wait_for_selector("h2.heading-1:has-text('Herons')")
    page.click(".trail a:has-text('Workspace')")
    choose(page, "dot.png", PIXEL)
    page.click(".file-link:has-text('dot.png')")
    page.wait_for_selector("img[alt='Picture dot.png']")
    page.click(".trail a:has-text('Workspace')")
    choose(page, "core.bin", b"\0\1\2")
    page.click(".file-link:has-text('core.bin')")

    says(page, "No preview.")


def test_a_file_that_is_not_there_is_explained(windows):
    page = windows.open("files/none.txt")
    page.wait_for_selector(".failure")
    windows.forgive(404)
