// The overview: what was run under which settings, the headline figures, and the charts.

function overview(choose) {
  const figures = index.runs.map((run) => run.figures);
  const ids = [...new Set(figures.flatMap((one) => (one ? one.charts.map((chart) => chart.id) : [])))];
  const charts = ids.map((id) => figures.map((one) => one?.charts.find((chart) => chart.id === id) ?? null));
  return el('div', { class: 'overview' },
    index.notes.map((note) => el('p', { class: 'notice' }, note)),
    el('div', { class: 'headlines' }, headlines(figures)),
    index.comparison ? comparison(index.comparison, choose) : null,
    el('div', { class: 'charts' }, charts.map((pair) => barTable(pair, choose))),
    el('div', { class: 'settings' }, index.runs.map(settings)));
}

function headlines(figures) {
  const labels = [...new Set(figures.flatMap((one) => (one ? one.headlines.map((line) => line.label) : [])))];
  return labels.map((label) => el('section', { class: 'headline', 'aria-label': label },
    el('h2', {}, label),
    figures.map((one, run) => {
      const line = one?.headlines.find((found) => found.label === label);
      if (!line) return null;
      const value = line.unit === 'count' ? number.format(line.value) : percent(line.value);
      const beside = line.low !== undefined ? `95% interval ${(100 * line.low).toFixed(1)}–${(100 * line.high).toFixed(1)}` : line.note;
      return el('p', {},
        isComparison ? el('span', { class: `letter run-${run}` }, LETTERS[run]) : null,
        el('b', { class: 'big' }, value), beside ? el('span', { class: 'small' }, beside) : null);
    })));
}

function comparison(data, choose) {
  const kinds = ['lost', 'gained', 'both_failed', 'both_solved', 'only_a', 'only_b'];
  const counts = kinds.map((kind) => [kind, rows.filter((row) => row.change === kind).length]).filter(([, count]) => count);
  return el('section', { class: 'card comparison' },
    el('h2', {}, 'Episode by episode'),
    el('div', { class: 'changes' }, counts.map(([kind, count]) => el('button',
      { type: 'button', class: `change ${kind}`, on: { click: () => choose({ change: kind }) } },
      el('b', {}, number.format(count)), ` ${CHANGES[kind]}`))),
    data.lines.map((line) => el('p', { class: 'small' }, line)));
}

function settings(run, at) {
  const entries = run.settings.map(([name, value]) => [el('dt', {}, words(name)), el('dd', {}, value)]);
  return el('section', { class: 'card' },
    el('h2', {}, isComparison ? el('span', { class: `letter run-${at}` }, LETTERS[at]) : null, run.name),
    el('dl', {}, entries));
}
