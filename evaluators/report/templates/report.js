"use strict";
// The table of samples: filters, search and pages over the data that the page carries. All texts are set as text.
(function () {
  const data = JSON.parse(document.getElementById("samples-data").textContent);
  const PAGE = 25;
  const byId = (id) => document.getElementById(id);
  const table = byId("samples-table");
  const body = table.querySelector("tbody");
  const status = byId("samples-status");
  const boxes = Array.from(document.querySelectorAll("#samples [data-filter]"));
  const MATCHES = {
    wrong: (sample) => sample.correct === false,
    unmatched: (sample) => data.unmatched.includes(sample.step),
    // A description that was cut off is judged too.
    judged: (sample) => sample.step === "judge" || sample.step === "text" || Boolean(sample.judge_scores),
  };
  let found = [];
  let page = 0;

  function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function haystack(sample) {
    if (sample.haystack === undefined) {
      const texts = [sample.id, sample.question, sample.text, sample.reference, sample.error].concat(sample.options || []);
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
    const run = value("samples-run");
    const words = value("samples-search").trim().toLowerCase();
    const wanted = data.samples.filter(
      (sample) =>
        (task === "" || sample.task === Number(task)) &&
        (run === "" || sample.run === Number(run)) &&
        (words === "" || haystack(sample).includes(words))
    );
    for (const box of boxes) {
      const count = wanted.filter(MATCHES[box.dataset.filter]).length;
      document.querySelector(`#samples [data-count="${box.dataset.filter}"]`).textContent = `(${count})`;
    }
    const chosen = boxes.filter((box) => box.checked).map((box) => MATCHES[box.dataset.filter]);
    found = wanted.filter((sample) => chosen.every((matches) => matches(sample)));
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
    status.textContent = `${found.length} of ${data.samples.length} samples`;
  }

  function row(sample) {
    const made = element("tr");
    made.dataset.id = sample.id;
    made.dataset.step = sample.step;
    made.append(pictures(sample), question(sample), answer(sample), reading(sample));
    return made;
  }

  function cell(label, className) {
    const made = element("td", undefined, className);
    made.dataset.label = label;
    return made;
  }

  function pictures(sample) {
    const made = cell("image", "pictures");
    (sample.images || []).forEach((place, number) => {
      if (place === null) {
        made.append(element("span", "cannot be read", "meta"));
        return;
      }
      const image = element("img");
      image.src = data.images[place];
      image.alt = `image ${number + 1} of ${sample.images.length} of ${sample.id}`;
      made.append(image);
    });
    if (!sample.images) made.append(element("span", "no image", "meta"));
    return made;
  }

  function question(sample) {
    const made = cell("question and options");
    const parts = [sample.id, data.tasks[sample.task]];
    if (sample.pass !== "main") parts.push(sample.pass);
    if (data.runs.length > 1) parts.push(data.runs[sample.run]);
    made.append(element("span", parts.join(" · "), "meta"));
    if (sample.question) made.append(text(sample.question));
    if (sample.options) {
      const list = element("ol");
      sample.options.forEach((option, number) => {
        const letter = String.fromCharCode(65 + number);
        const item = element("li", `${letter}. ${option}`, letter === sample.choice ? "chosen" : "");
        item.dir = "auto";
        if (letter === sample.answer) item.append(element("span", " ✓ right answer", "right"));
        list.append(item);
      });
      made.append(list);
    }
    if (sample.reference) made.append(element("span", "reference", "meta"), text(sample.reference));
    return made;
  }

  function text(content, className) {
    const made = element("div", content, className);
    made.dir = "auto";
    return made;
  }

  function answer(sample) {
    const made = cell("raw answer");
    if (sample.error) made.append(element("span", "no answer", "meta"), text(sample.error));
    else if (sample.text === undefined) made.append(element("span", "no text was asked for", "meta"));
    else if (sample.text.trim() === "") made.append(element("span", "an empty answer", "meta"));
    else {
      const raw = text(sample.text, "raw");
      if (sample.text.length > 400) raw.tabIndex = 0;
      made.append(raw);
    }
    if (sample.reasoning) {
      const reasoning = element("details");
      reasoning.append(element("summary", "reasoning", "meta"), text(sample.reasoning, "raw"));
      made.append(reasoning);
    }
    return made;
  }

  function reading(sample) {
    const made = cell("read as");
    if (sample.choice) made.append(element("div", sample.choice, "chosen"));
    if (sample.predicted !== undefined) made.append(element("div", `predicted ${Number(sample.predicted.toPrecision(5))}`));
    if (sample.human !== undefined) made.append(element("div", `human ${Number(sample.human.toPrecision(5))}`));
    Object.entries(sample.judge_scores || {}).forEach(([name, score]) => {
      made.append(element("div", `${name} ${Number(score.toPrecision(3))}`));
    });
    if (sample.correct !== undefined) made.append(element("div", sample.correct ? "right" : "wrong", sample.correct ? "right" : "wrong"));
    if (sample.outcome) made.append(element("div", sample.outcome));
    if (sample.answer && !sample.options) made.append(element("div", `right answer: ${sample.answer}`));
    made.append(element("span", data.steps[sample.step] || sample.step, "meta"));
    return made;
  }

  function fill(id, names) {
    const control = byId(id);
    if (!control) return;
    names.forEach((name, place) => {
      if (!data.samples.some((sample) => sample[id === "samples-task" ? "task" : "run"] === place)) return;
      const option = element("option", name);
      option.value = String(place);
      control.append(option);
    });
  }

  function turn(step) {
    page += step;
    show();
    byId("samples").scrollIntoView({ block: "start" });
  }

  fill("samples-task", data.tasks);
  fill("samples-run", data.runs);
  if (data.samples.length === 0) {
    status.textContent = "There are no samples to show.";
  } else {
    const controls = byId("samples-controls");
    controls.hidden = false;
    controls.addEventListener("submit", (event) => event.preventDefault());
    byId("samples-search").addEventListener("input", select);
    const choices = [byId("samples-task"), byId("samples-run"), ...boxes];
    choices.filter(Boolean).forEach((control) => control.addEventListener("change", select));
    byId("samples-previous").addEventListener("click", () => turn(-1));
    byId("samples-next").addEventListener("click", () => turn(1));
    select();
  }

  // A closed part is missing on paper. Settings may stay closed: they fill pages, and are in the results too.
  const parts = Array.from(document.querySelectorAll("details.print"));
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = parts.filter((part) => !part.open);
    closed.forEach((part) => { part.open = true; });
  });
  window.addEventListener("afterprint", () => closed.forEach((part) => { part.open = false; }));
})();
