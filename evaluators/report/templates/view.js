// The list of runs is loaded again while one is running; the page of a run asks how far it is. All texts are set as text.
"use strict";
const EVERY = 2000;
const byId = (id) => document.getElementById(id);

function minutes(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const total = Math.round(seconds / 60);
  return total < 90 ? `${total} min` : `${Math.floor(total / 60)} h ${total % 60} min`;
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function showScores(rows) {
  byId("no-scores").hidden = rows.length > 0;
  byId("scores").hidden = rows.length === 0;
  byId("scores").tBodies[0].replaceChildren(...rows.map(([task, ...cells]) => {
    const row = document.createElement("tr");
    const head = element("th", task);
    head.scope = "row";
    row.append(head, ...cells.map((text, index) => {
      const cell = element("td", text);
      if (index) cell.className = "number";
      return cell;
    }));
    return row;
  }));
}

function showReplies(replies) {
  byId("replies").replaceChildren(...replies.map((reply) => {
    const part = document.createElement("div");
    part.className = "reply";
    for (const [index, source] of reply.images.entries()) {
      if (!source.startsWith("data:image/webp;base64,")) continue;
      const image = document.createElement("img");
      image.src = source;
      image.alt = reply.images.length > 1 ? `image ${index + 1} of ${reply.id}` : `image of ${reply.id}`;
      part.append(image);
    }
    const answer = document.createElement("div");
    answer.append(element("b", reply.reply));
    part.append(element("div", reply.prompt), answer);
    return part;
  }));
}

function show(progress) {
  const { model, done, total, seconds, seconds_left: left, updated } = progress;
  const quiet = (Date.now() - Date.parse(updated)) / 1000;
  byId("running").hidden = false;
  byId("status").textContent = quiet > 120
    ? `${model}: nothing new for ${minutes(quiet)}; the run may have been stopped`
    : `${model} is running`;
  byId("bar").max = Math.max(total, done, 1);
  byId("bar").value = done;
  const rate = seconds > 0 ? `, ${(done / seconds).toPrecision(3)} per second` : "";
  const rest = left === null ? "" : `, about ${minutes(left)} left`;
  byId("counts").textContent = `${done.toLocaleString()} of ${total.toLocaleString()} answers in ${minutes(seconds)}${rate}${rest}`;
  showScores(progress.scores);
  showReplies(progress.replies);
}

async function poll() {
  try {
    const answer = await fetch("progress.json");
    const { state, progress } = answer.ok ? await answer.json() : { state: "gone" };
    if (state === "running" && progress) show(progress);
    else if (state === "ended") {
      const link = element("a", "see its report");
      link.href = "./";
      byId("status").replaceChildren("The run has ended: ", link, ".");
      byId("running").hidden = true;
    } else if (state === "gone") byId("status").textContent = "The folder of the run is gone.";
  } catch {
    byId("status").textContent = "No connection: `eyechart view` shows this run again.";
  }
  setTimeout(poll, EVERY);
}

if (document.body.dataset.kind === "watch") poll();
if ("reload" in document.body.dataset) setTimeout(() => location.reload(), 5000);
