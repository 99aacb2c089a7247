// Small curves of a weight over time.

const SVG = "http://www.w3.org/2000/svg";
const SPARK_WIDTH = 96;
const SPARK_HEIGHT = 18;

/**
 * A curve of some values, its highest at the top.
 * @param {ArrayLike<number>} values
 * @param {string} label for those who cannot see it
 * @returns {SVGElement}
 */
export function sparkline(values, label) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("class", "sparkline");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  let most = 0;
  for (let i = 0; i < values.length; i++) most = Math.max(most, values[i]);
  if (!most) return svg;
  const step = SPARK_WIDTH / values.length;
  let path = `M0 ${SPARK_HEIGHT}`;
  for (let i = 0; i < values.length; i++) {
    const y = (SPARK_HEIGHT - (values[i] / most) * (SPARK_HEIGHT - 2)).toFixed(1);
    path += `L${(i * step).toFixed(1)} ${y}L${((i + 1) * step).toFixed(1)} ${y}`;
  }
  const area = document.createElementNS(SVG, "path");
  area.setAttribute("d", `${path}L${SPARK_WIDTH} ${SPARK_HEIGHT}Z`);
  svg.append(area);
  return svg;
}
