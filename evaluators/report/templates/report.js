"use strict";
// The table of samples: filters, search and paging over the data embedded in the page. Every text is set as text.
// Samples of several runs on the same question share a row.
(function () {
  const data = JSON.parse(document.getElementById("samples-data").textContent);
  const PAGE = 25;
  const byId = (id) => document.getElementById(id);
  const table = byId("samples-table");
  const body = table.querySelector("tbody");
  const status = byId("samples-status");
  const large = byId("samples-large");
  const boxes = Array.from(document.querySelectorAll("#samples [data-filter]"));
  const several = data.runs.length > 1;
  const MATCHES = {
    disagree: (sample) => sample.disagree === true,
    wrong: (sample) => sample.correct === false,
    unparsed: (sample) => replies(sample).some(([, one]) => data.unparsedSteps.includes(one.step)),
    // Descriptions that were cut off are judged too.
    judged: (sample) => sample.step === "judge" || sample.step === "scored as text" || Boolean(sample.judge_scores),
  };
  const questions = grouped(data.samples);
  let found = [];
  let page = 0;

  // One array of samples per question.
  function grouped(samples) {
    const groups = new Map();
    for (const sample of samples) {
      const key = JSON.stringify([sample.task, sample.id, sample.pass]);
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [sample]);
      else group.push(sample);
    }
    return Array.from(groups.values());
  }

  function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function haystack(sample) {
    if (sample.haystack === undefined) {
      const texts = [sample.id, sample.question, sample.reference].concat(sample.options || []);
      replies(sample).forEach(([, one]) => texts.push(one.text, one.error));
      sample.haystack = texts.filter(Boolean).join("\n").toLowerCase();
    }
    return sample.haystack;
  }

  function value(id) {
    const control = byId(id);
    return control ? control.value : "";
  }

  function select() {
    const task = value("samples-task");
    const words = value("samples-search").trim().toLowerCase();
    const wanted = questions.filter(
      (group) =>
        (task === "" || group[0].task === Number(task)) &&
        (words === "" || group.some((sample) => haystack(sample).includes(words)))
    );
    for (const box of boxes) {
      const count = wanted.filter((group) => group.some(MATCHES[box.dataset.filter])).length;
      document.querySelector(`#samples [data-count="${box.dataset.filter}"]`).textContent = `(${count.toLocaleString("en")})`;
    }
    const chosen = boxes.filter((box) => box.checked).map((box) => MATCHES[box.dataset.filter]);
    found = wanted.filter((group) => chosen.every((matches) => group.some(matches)));
    page = 0;
    show();
  }

  function show() {
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const rows = found.slice(page * PAGE, (page + 1) * PAGE).map(row);
    body.replaceChildren(...rows);
    table.hidden = rows.length === 0;
    byId("samples-pages").hidden = pages === 1;
    byId("samples-page").textContent = `page ${page + 1} of ${pages}`;
    byId("samples-previous").disabled = page === 0;
    byId("samples-next").disabled = page === pages - 1;
    status.textContent = `${found.length.toLocaleString("en")} of ${questions.length.toLocaleString("en")} ${several ? "questions" : "samples"}`;
  }

  function row(group) {
    const [first] = group;
    const made = element("tr");
    made.dataset.id = first.id;
    made.dataset.step = first.step;
    made.append(pictures(first), question(first, several ? group : []));
    if (several) made.append(...data.runs.map((name, place) => ofRun(name, group.find((sample) => sample.run === place), first)));
    else made.append(answer(first), reading(first));
    return made;
  }

  // One of several runs: its reply and what was parsed from it.
  function ofRun(name, sample, first) {
    const made = cell(name);
    if (sample === undefined) {
      made.append(element("span", "not asked", "meta"));
      return made;
    }
    const chosen = sample.choice ? (sample.options || [])[sample.choice.charCodeAt(0) - 65] : undefined;
    const shown = reading({ ...sample, choice: chosen ? `${sample.choice}. ${chosen}` : sample.choice });
    made.append(...shown.childNodes, ...answer(sample).childNodes);
    // Only a prompt that differs from the first run's.
    if (sample.prompt !== undefined && sample.prompt !== first.prompt) made.append(folded("prompt", sample.prompt));
    return made;
  }

  function cell(label, className) {
    const made = element("td", undefined, className);
    made.dataset.label = label;
    return made;
  }

  function pictures(sample) {
    const made = cell("image", "pictures");
    const opener = element("button", undefined, "enlarge");
    opener.type = "button";
    opener.title = "Show large";
    opener.setAttribute("aria-haspopup", "dialog");
    (sample.images || []).forEach((place, number) => {
      const name = sample.images.length > 1 ? `image ${number + 1} of ${sample.images.length}` : "image";
      if (place === null) {
        made.append(element("span", `${name}: not shown`, "meta"));
        return;
      }
      const image = element("img");
      image.src = data.images[place];
      image.alt = `${name} of ${sample.id}`;
      opener.append(image);
    });
    opener.addEventListener("click", () => enlarge(opener.querySelectorAll("img")));
    if (opener.childElementCount) made.prepend(opener);
    if (!sample.images) made.append(element("span", "no image", "meta"));
    return made;
  }

  function enlarge(images) {
    const copies = Array.from(images, (image) => {
      const made = element("figure");
      const caption = `${image.alt}: ${image.naturalWidth} × ${image.naturalHeight} pixels in this report`;
      made.append(image.cloneNode(), element("figcaption", caption));
      return made;
    });
    large.querySelector("div").replaceChildren(...copies);
    large.showModal();
  }

  // The choice is marked for one run only: several runs may have the options in different orders.
  function question(sample, group) {
    const made = cell("question and options");
    const parts = [sample.id, data.tasks[sample.task]];
    if (sample.pass !== "main") parts.push(sample.pass);
    made.append(element("span", parts.join(" · "), "meta"));
    if (sample.question || sample.prompt) made.append(text(sample.question || sample.prompt));
    else made.append(element("span", "prompt unknown", "meta"));
    if (sample.options) {
      const list = element("ol");
      sample.options.forEach((option, number) => {
        const letter = String.fromCharCode(65 + number);
        const item = element("li", `${letter}. ${option}`, letter === sample.choice && group.length === 0 ? "chosen" : "");
        item.dir = "auto";
        if (sample.answer?.includes(letter)) item.append(element("span", " ✓ correct answer", "right"));
        list.append(item);
      });
      made.append(list);
    }
    if (sample.question && sample.prompt) made.append(folded("prompt", sample.prompt));
    if (sample.reference) made.append(element("span", "reference", "meta"), text(sample.reference));
    return made;
  }

  function text(content, className) {
    const made = element("div", content, className);
    made.dir = "auto";
    return made;
  }

  // A pair has two replies, each with the order in which it was shown the images.
  function replies(sample) {
    return sample.swapped ? [["images 1, 2", sample], ["images 2, 1", sample.swapped]] : [["", sample]];
  }

  function folded(name, content) {
    const made = element("details");
    made.append(element("summary", name, "meta"), text(content, "raw"));
    return made;
  }

  function answer(sample) {
    const made = cell("reply");
    for (const [order, one] of replies(sample)) {
      if (order) made.append(element("span", order, "meta"));
      if (one.error) made.append(element("span", "no reply", "meta"), text(one.error));
      else if (one.text === undefined) made.append(element("span", "no text requested", "meta"));
      else if (one.text.trim() === "") made.append(element("span", "empty reply", "meta"));
      else {
        const raw = text(one.text, "raw");
        if (one.text.length > 400) raw.tabIndex = 0;
        made.append(raw);
      }
      if (one.reasoning) made.append(folded("reasoning", one.reasoning));
    }
    return made;
  }

  function reading(sample) {
    const made = cell("parsed as");
    for (const [order, one] of replies(sample)) {
      if (order) made.append(element("div", `${order}: ${one.choice || "none"}`));
      else if (one.choice) made.append(element("div", one.choice, "chosen"));
    }
    if (sample.predicted !== undefined) made.append(element("div", `predicted ${Number(sample.predicted.toPrecision(5))}`));
    if (sample.own_score !== undefined) made.append(element("div", `own score ${Number(sample.own_score.toPrecision(5))}`));
    if (sample.human !== undefined) made.append(element("div", `human ${Number(sample.human.toPrecision(5))}`));
    Object.entries(sample.judge_scores || {}).forEach(([name, score]) => {
      made.append(element("div", `${name} ${Number(score.toPrecision(3))}`));
    });
    if (sample.consistent === false) {
      made.append(element("div", "inconsistent", "wrong"));
      if (sample.correct === false) made.append(element("span", "counts as incorrect", "meta"));
    } else if (sample.correct !== undefined) made.append(element("div", sample.correct ? "correct" : "incorrect", sample.correct ? "right" : "wrong"));
    if (sample.outcome) made.append(element("div", sample.outcome));
    if (sample.answer && !sample.options) made.append(element("div", `correct answer: ${sample.answer}`));
    const steps = new Set(replies(sample).map(([, one]) => one.step.replaceAll("_", " ")));
    made.append(element("span", Array.from(steps).join("; "), "meta"));
    return made;
  }

  function fillTasks() {
    const used = new Set(data.samples.map((sample) => sample.task));
    data.tasks.forEach((name, place) => {
      if (!used.has(place)) return;
      const option = element("option", name);
      option.value = String(place);
      byId("samples-task").append(option);
    });
  }

  function turn(step) {
    page += step;
    show();
    byId("samples").scrollIntoView({ block: "start" });
  }

  fillTasks();
  if (data.samples.length === 0) {
    status.textContent = "No samples to show";
  } else {
    const controls = byId("samples-controls");
    controls.hidden = false;
    controls.addEventListener("submit", (event) => event.preventDefault());
    byId("samples-search").addEventListener("input", select);
    const judged = boxes.find((box) => box.dataset.filter === "judged");
    judged.closest("label").hidden = !data.samples.some(MATCHES.judged);
    [byId("samples-task"), ...boxes].forEach((control) => control.addEventListener("change", select));
    large.addEventListener("click", () => large.close());
    byId("samples-previous").addEventListener("click", () => turn(-1));
    byId("samples-next").addEventListener("click", () => turn(1));
    select();
  }

  // A paper's table stays open next to its figure; below the figure it would push the rest out of sight.
  if (!window.matchMedia("(min-width: 60rem)").matches) {
    document.querySelectorAll("details[data-wide]").forEach((part) => { part.open = false; });
  }

  // What is wider than its place says so.
  const widths = new ResizeObserver((entries) => {
    for (const { target } of entries) target.classList.toggle("scrolls", target.scrollWidth > target.clientWidth);
  });
  document.querySelectorAll(".papers-table .scroll").forEach((part) => widths.observe(part));

  // Closed sections are not printed. Settings may stay closed: they fill pages and are in results.json too.
  const parts = Array.from(document.querySelectorAll("details.print"));
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = parts.filter((part) => !part.open);
    closed.forEach((part) => { part.open = true; });
  });
  window.addEventListener("afterprint", () => closed.forEach((part) => { part.open = false; }));
})();
