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
    unparsed: (sample) => replies(sample).some(([, reply]) => data.unparsedSteps.includes(reply.step)),
    // Descriptions that were cut off are judged too.
    judged: (sample) => sample.step === "judge" || sample.step === "scored as text" || Boolean(sample.judge_scores),
  };
  const questions = grouped(data.samples);
  let matching = [];
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
    const node = document.createElement(name);
    if (text !== undefined) node.textContent = text;
    if (className) node.className = className;
    return node;
  }

  function haystack(sample) {
    if (sample.haystack === undefined) {
      const texts = [sample.id, sample.question, sample.reference].concat(sample.options || []);
      replies(sample).forEach(([, reply]) => texts.push(reply.text, reply.error));
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
    matching = wanted.filter((group) => chosen.every((matches) => group.some(matches)));
    page = 0;
    show();
  }

  function show() {
    const pages = Math.max(1, Math.ceil(matching.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const rows = matching.slice(page * PAGE, (page + 1) * PAGE).map(row);
    body.replaceChildren(...rows);
    table.hidden = rows.length === 0;
    byId("samples-pages").hidden = pages === 1;
    byId("samples-page").textContent = `page ${page + 1} of ${pages}`;
    byId("samples-previous").disabled = page === 0;
    byId("samples-next").disabled = page === pages - 1;
    status.textContent = `${matching.length.toLocaleString("en")} of ${questions.length.toLocaleString("en")} ${several ? "questions" : "samples"}`;
  }

  function row(group) {
    const [first] = group;
    const tr = element("tr");
    tr.dataset.id = first.id;
    tr.dataset.step = first.step;
    tr.append(pictures(first), question(first, several ? group : []));
    if (several) tr.append(...data.runs.map((name, index) => ofRun(name, group.find((sample) => sample.run === index), first)));
    else tr.append(answer(first), reading(first));
    return tr;
  }

  // One of several runs: its reply and what was parsed from it.
  function ofRun(name, sample, first) {
    const td = cell(name);
    if (sample === undefined) {
      td.append(element("span", "not asked", "meta"));
      return td;
    }
    const chosen = sample.choice ? (sample.options || [])[sample.choice.charCodeAt(0) - 65] : undefined;
    const shown = reading({ ...sample, choice: chosen ? `${sample.choice}. ${chosen}` : sample.choice });
    td.append(...shown.childNodes, ...answer(sample).childNodes);
    // Only a prompt that differs from the first run's.
    if (sample.prompt !== undefined && sample.prompt !== first.prompt) td.append(folded("prompt", sample.prompt));
    return td;
  }

  function cell(label, className) {
    const td = element("td", undefined, className);
    td.dataset.label = label;
    return td;
  }

  function pictures(sample) {
    const td = cell("image", "pictures");
    const opener = element("button", undefined, "enlarge");
    opener.type = "button";
    opener.title = "Show large";
    opener.setAttribute("aria-haspopup", "dialog");
    (sample.images || []).forEach((index, number) => {
      const name = sample.images.length > 1 ? `image ${number + 1} of ${sample.images.length}` : "image";
      if (index === null) {
        td.append(element("span", `${name}: not shown`, "meta"));
        return;
      }
      const image = element("img");
      image.src = data.images[index];
      image.alt = `${name} of ${sample.id}`;
      opener.append(image);
    });
    opener.addEventListener("click", () => enlarge(opener.querySelectorAll("img")));
    if (opener.childElementCount) td.prepend(opener);
    if (!sample.images) td.append(element("span", "no image", "meta"));
    return td;
  }

  function enlarge(images) {
    const copies = Array.from(images, (image) => {
      const figure = element("figure");
      const caption = `${image.alt}: ${image.naturalWidth} × ${image.naturalHeight} pixels in this report`;
      figure.append(image.cloneNode(), element("figcaption", caption));
      return figure;
    });
    large.querySelector("div").replaceChildren(...copies);
    large.showModal();
  }

  // The choice is marked for one run only: several runs may have the options in different orders.
  function question(sample, group) {
    const td = cell("question and options");
    const parts = [sample.id, data.tasks[sample.task]];
    if (sample.pass !== "main") parts.push(sample.pass);
    td.append(element("span", parts.join(" · "), "meta"));
    if (sample.question || sample.prompt) td.append(text(sample.question || sample.prompt));
    else td.append(element("span", "prompt unknown", "meta"));
    if (sample.options) {
      const list = element("ol");
      sample.options.forEach((option, number) => {
        const letter = String.fromCharCode(65 + number);
        const item = element("li", `${letter}. ${option}`, letter === sample.choice && group.length === 0 ? "chosen" : "");
        item.dir = "auto";
        if (sample.answer?.includes(letter)) item.append(element("span", " ✓ correct answer", "right"));
        list.append(item);
      });
      td.append(list);
    }
    if (sample.question && sample.prompt) td.append(folded("prompt", sample.prompt));
    if (sample.reference) td.append(element("span", "reference", "meta"), text(sample.reference));
    return td;
  }

  function text(content, className) {
    const div = element("div", content, className);
    div.dir = "auto";
    return div;
  }

  // A pair has two replies, each with the order in which it was shown the images.
  function replies(sample) {
    return sample.swapped ? [["images 1, 2", sample], ["images 2, 1", sample.swapped]] : [["", sample]];
  }

  function folded(name, content) {
    const details = element("details");
    details.append(element("summary", name, "meta"), text(content, "raw"));
    return details;
  }

  function answer(sample) {
    const td = cell("reply");
    for (const [order, reply] of replies(sample)) {
      if (order) td.append(element("span", order, "meta"));
      if (reply.error) td.append(element("span", "no reply", "meta"), text(reply.error));
      else if (reply.text === undefined) td.append(element("span", "no text requested", "meta"));
      else if (reply.text.trim() === "") td.append(element("span", "empty reply", "meta"));
      else {
        const raw = text(reply.text, "raw");
        if (reply.text.length > 400) raw.tabIndex = 0;
        td.append(raw);
      }
      if (reply.reasoning) td.append(folded("reasoning", reply.reasoning));
    }
    return td;
  }

  function reading(sample) {
    const td = cell("parsed as");
    for (const [order, reply] of replies(sample)) {
      if (order) td.append(element("div", `${order}: ${reply.choice || "none"}`));
      else if (reply.choice) td.append(element("div", reply.choice, "chosen"));
    }
    if (sample.predicted !== undefined) td.append(element("div", `predicted ${Number(sample.predicted.toPrecision(5))}`));
    if (sample.own_score !== undefined) td.append(element("div", `own score ${Number(sample.own_score.toPrecision(5))}`));
    if (sample.human !== undefined) td.append(element("div", `human ${Number(sample.human.toPrecision(5))}`));
    Object.entries(sample.judge_scores || {}).forEach(([name, score]) => {
      td.append(element("div", `${name} ${Number(score.toPrecision(3))}`));
    });
    if (sample.consistent === false) {
      td.append(element("div", "inconsistent", "wrong"));
      if (sample.correct === false) td.append(element("span", "counts as incorrect", "meta"));
    } else if (sample.correct !== undefined) td.append(element("div", sample.correct ? "correct" : "incorrect", sample.correct ? "right" : "wrong"));
    if (sample.outcome) td.append(element("div", sample.outcome));
    if (sample.answer && !sample.options) td.append(element("div", `correct answer: ${sample.answer}`));
    const steps = new Set(replies(sample).map(([, reply]) => reply.step.replaceAll("_", " ")));
    td.append(element("span", Array.from(steps).join("; "), "meta"));
    return td;
  }

  function fillTasks() {
    const used = new Set(data.samples.map((sample) => sample.task));
    data.tasks.forEach((name, index) => {
      if (!used.has(index)) return;
      const option = element("option", name);
      option.value = String(index);
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
