"use strict";
(() => {
  const orders = [...document.querySelectorAll("article.order")];
  const filter = document.getElementById("filter");
  for (const each of document.querySelectorAll(".tools, .keys")) each.hidden = false;
  if (!orders.length) document.querySelector(".tools").hidden = true;

  // A link to something inside a closed order opens the order first.
  const reveal = () => {
    const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!found) return;
    const own = found.matches("article.order") ? found.querySelector("details") : null;
    if (own) own.open = true;
    for (let each = found.parentElement; each; each = each.parentElement)
      if (each.tagName === "DETAILS") each.open = true;
    if (found.matches("article.order")) { found.hidden = false; found.focus({ preventScroll: true }); }
    found.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();

  const openAll = (open) => { for (const each of orders) each.firstElementChild.open = open; };
  document.getElementById("open-all").addEventListener("click", () => openAll(true));
  document.getElementById("close-all").addEventListener("click", () => openAll(false));

  const texts = new Map();
  const textOf = (order) => {
    if (!texts.has(order)) {
      const parts = [order.querySelector("summary"), order.querySelector("dl.facts")];
      texts.set(order, parts.map((each) => each.textContent).join(" ").toLowerCase());
    }
    return texts.get(order);
  };
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const each of orders) {
      each.hidden = !words.every((word) => textOf(each).includes(word));
      shown += !each.hidden;
    }
    document.getElementById("matches").textContent = words.length ? `${shown} of ${orders.length}` : "";
  });

  let at = -1;
  const go = (step) => {
    const focused = orders.findIndex((each) => each.contains(document.activeElement));
    at = focused >= 0 ? focused : at;
    let next = at + step;
    while (orders[next] && orders[next].hidden) next += step;
    if (!orders[next]) return;
    at = next;
    const head = orders[at].querySelector("summary");
    head.focus({ preventScroll: true });
    orders[at].scrollIntoView({ block: "start" });
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input")) {
      if (event.key === "Escape") { filter.value = ""; filter.dispatchEvent(new Event("input")); filter.blur(); }
      return;
    }
    if (event.key === "j") go(1);
    else if (event.key === "k") go(-1);
    else if (event.key === "o" && orders[at]) { const own = orders[at].firstElementChild; own.open = !own.open; }
    else if (event.key === "/") { event.preventDefault(); filter.focus(); }
  });

  // The graph shows what a box needs, and what needs it, while it has the pointer or the focus.
  const graph = document.querySelector(".graph svg");
  if (graph) {
    const edges = [...graph.querySelectorAll("[data-a]")];
    const light = (node) => {
      graph.classList.toggle("lit", Boolean(node));
      const near = new Set(node ? [node] : []);
      for (const each of edges) {
        const on = node === each.dataset.a || node === each.dataset.b;
        each.classList.toggle("on", on);
        if (on) near.add(each.dataset.a).add(each.dataset.b);
      }
      for (const each of graph.querySelectorAll("[data-node]")) each.classList.toggle("on", near.has(each.dataset.node));
    };
    const under = (event) => { const found = event.target.closest("[data-node]"); light(found && found.dataset.node); };
    graph.addEventListener("pointerover", under);
    graph.addEventListener("pointerleave", () => light(null));
    graph.addEventListener("focusin", under);
    graph.addEventListener("focusout", () => light(null));
  }

  // While the run goes on, the page is served: it asks for a newer version, and keeps its place.
  const version = document.documentElement.dataset.live;
  const place = sessionStorage.getItem("llmch");
  if (place) {
    const before = JSON.parse(place);
    sessionStorage.removeItem("llmch");
    for (const [id, open] of before.orders) {
      const own = document.getElementById(id);
      if (own) own.firstElementChild.open = open;
    }
    filter.value = before.filter;
    filter.dispatchEvent(new Event("input"));
    scrollTo({ top: before.top, behavior: "instant" });
  }
  const follow = async () => {
    try {
      const answer = await fetch("version", { cache: "no-store" });
      if (answer.ok && (await answer.text()) !== version) {
        const open = orders.map((each) => [each.id, each.firstElementChild.open]);
        sessionStorage.setItem("llmch", JSON.stringify({ orders: open, filter: filter.value, top: scrollY }));
        location.reload();
        return;
      }
    } catch {
      document.getElementById("live").textContent = "The page is not served any more: this is its last state.";
      return;
    }
    setTimeout(follow, 1000);
  };
  if (version) setTimeout(follow, 1000);
})();
