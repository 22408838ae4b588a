// The theme is the system's, or the one chosen here. Not a module, so that it is set before anything is drawn.
"use strict";
{
  const root = document.documentElement;
  const dark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  try {
    const chosen = localStorage.getItem("theme");
    if (chosen) root.dataset.theme = chosen;
  } catch {
    // A browser that keeps nothing shows the system's theme.
  }
  addEventListener("click", (event) => {
    if (!event.target.closest?.("#theme")) return;
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // as above: then the choice lasts as long as the page
    }
  });
}
