// Small pictures in SVG: how many documents over time, and how a figure moved.

import { s, shortDay, counted } from "./dom.js";

/** Bars of documents over time; `timeline` is {start, interval_seconds, documents}. */
export function bars(timeline, { width = 240, height = 36, label = true } = {}) {
  const counts = timeline.documents;
  const most = Math.max(1, ...counts);
  const step = width / Math.max(1, counts.length);
  const columns = counts.map((count, i) => {
    const tall = count ? Math.max(2, (count / most) * (height - 1)) : 1;
    return s("rect", {
      class: count ? "bar-on" : "bar-off",
      x: (i * step).toFixed(2),
      y: (height - tall).toFixed(2),
      width: Math.max(1, step * 0.72).toFixed(2),
      height: tall.toFixed(2),
      rx: Math.min(1.5, step / 4).toFixed(2),
    });
  });
  return s(
    "svg",
    {
      class: "bars",
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": label ? described(timeline) : null,
      "aria-hidden": label ? null : "true",
    },
    columns,
  );
}

function described(timeline) {
  const total = timeline.documents.reduce((sum, count) => sum + count, 0);
  const start = Date.parse(timeline.start);
  const end = start + timeline.documents.length * timeline.interval_seconds * 1000;
  return `${counted(total, "document")} from ${shortDay(start)} to ${shortDay(end - 1)}`;
}

/** A line through the last values of a figure; gaps where a value is null. */
export function line(values, { width = 200, height = 32 } = {}) {
  const real = values.filter((value) => value !== null);
  const most = Math.max(1e-9, ...real);
  const step = width / Math.max(1, values.length - 1);
  let path = "";
  let drawing = false;
  values.forEach((value, i) => {
    if (value === null) {
      drawing = false;
      return;
    }
    const y = height - 1.5 - (value / most) * (height - 3);
    path += `${drawing ? "L" : "M"}${(i * step).toFixed(1)} ${y.toFixed(1)}`;
    drawing = true;
  });
  return s(
    "svg",
    {
      class: "line",
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    },
    s("path", { d: path || "M0 0", "vector-effect": "non-scaling-stroke" }),
  );
}

/** Counts of one concept as a line over a shaded ground; from index `recent` on it stands out. */
export function spark(counts, recent, { width = 120, height = 28 } = {}) {
  const most = Math.max(1, ...counts);
  const step = width / Math.max(1, counts.length - 1);
  const at = (i) => `${(i * step).toFixed(1)} ${(height - 2 - (counts[i] / most) * (height - 5)).toFixed(1)}`;
  const path = (from, to) => `M${Array.from({ length: to - from }, (_, i) => at(from + i)).join("L")}`;
  const turn = Math.min(Math.max(0, recent - 1), counts.length - 1);
  return s(
    "svg",
    { class: "spark", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    s("path", { class: "ground", d: `${path(0, counts.length)}L${width} ${height}L0 ${height}Z` }),
    s("path", { class: "stroke", d: path(0, turn + 1), "vector-effect": "non-scaling-stroke" }),
    s("path", { class: "stroke recent", d: path(turn, counts.length), "vector-effect": "non-scaling-stroke" }),
  );
}
