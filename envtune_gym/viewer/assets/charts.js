// Charts are tables: each row has its name, a bar for each run, and the figure itself.

const LONG_NAME = 28; // longer ones may break anywhere

function barTable(charts, choose) {
  const [chart] = charts.filter(Boolean);
  const labels = [...new Set(charts.flatMap((one) => (one ? one.rows.map((row) => row.label) : [])))];
  const everything = charts.flatMap((one) => (one ? one.rows : []));
  const most = chart.unit === 'count' ? Math.max(1, ...everything.map((row) => row.value)) : 1;
  const body = labels.map((label) => {
    const found = charts.map((one) => (one ? one.rows.find((row) => row.label === label) : null) ?? null);
    const filter = found.find(Boolean).filter;
    const text = chart.unit === 'count' ? words(label) : label;
    const name = filter
      ? el('button', { type: 'button', class: 'link', title: 'Show these episodes', on: { click: () => choose(filter) } }, text)
      : text;
    return el('tr', {},
      el('th', { scope: 'row', class: text.length > LONG_NAME ? 'long' : null }, name),
      el('td', { class: 'bars' }, found.map((row, run) => bar(row, run, most))),
      el('td', { class: 'figure' }, found.map((row, run) => figure(row, run, chart.unit))));
  });
  return el('section', { class: 'card' },
    el('table', { class: 'chart' }, el('caption', {}, chart.title), el('tbody', {}, body)),
    chart.note ? el('p', { class: 'small' }, chart.note) : null);
}

function bar(row, run, most) {
  const fill = el('span', { class: `fill run-${run}` });
  fill.style.width = `${row ? Math.max(0, Math.min(1, row.value / most)) * 100 : 0}%`;
  const track = el('span', { class: 'track', 'aria-hidden': 'true' }, fill);
  if (row && row.low !== undefined) {
    const whisker = el('span', { class: 'whisker' });
    whisker.style.left = `${row.low * 100}%`;
    whisker.style.width = `${(row.high - row.low) * 100}%`;
    track.append(whisker);
  }
  return track;
}

function figure(row, run, unit) {
  if (!row) return el('span', { class: 'value' }, '–');
  const value = unit === 'count' ? number.format(row.value) : percent(row.value);
  const interval = row.low !== undefined ? `${(100 * row.low).toFixed(0)}–${(100 * row.high).toFixed(0)}` : null;
  return el('span', { class: 'value' },
    isComparison ? el('span', { class: `letter run-${run}` }, LETTERS[run]) : null,
    el('b', {}, value),
    interval ? el('span', { class: 'interval', title: '95% interval' }, interval) : null,
    row.count !== undefined ? el('span', { class: 'count', title: 'episodes' }, `n=${number.format(row.count)}`) : null);
}
