// One episode: who said what, what came of it, and how each turn ended.

const FOLDED_LENGTH = 1500;
const SHOWN_LENGTH = 1100;

function detailView(row) {
  return el('article', { class: 'detail', 'aria-labelledby': 'detail-title' },
    el('h2', { id: 'detail-title' }, row.first.id, row.first.sample ? ` #${row.first.sample}` : ''),
    el('p', { class: 'chips' }, [row.first.category, ...(row.first.domains ?? [])].map((name) => el('span', { class: 'chip' }, name))),
    el('div', { class: isComparison ? 'side-by-side' : 'single' }, row.places.map((place, run) => side(place, run))));
}

function side(place, run) {
  const label = isComparison ? `${LETTERS[run]}: ${index.runs[run].name}` : null;
  const head = label ? el('h3', { class: 'side-name' }, el('span', { class: `letter run-${run}` }, LETTERS[run]), index.runs[run].name) : null;
  if (place === null) return el('section', { 'aria-label': label }, head, el('p', { class: 'notice' }, 'Not played in this run.'));
  const episode = index.episodes[run][place];
  const detail = loadDetails().episodes[run][place];
  const hasTurns = detail.turns !== undefined;
  return el('section', { 'aria-label': label ?? 'Episode' },
    head, outcome(episode),
    detail.broken !== undefined ? el('div', { class: 'notice bad' }, el('b', {}, 'Broken off: '), long(detail.broken)) : null,
    detail.notes.map((note) => el('div', { class: 'notice' }, long(note))),
    (detail.turns ?? []).map((turn, at) => turnView(turn, at, `${run}-${at}`)),
    detail.unsent.length ? el('section', { class: 'turn' },
      el('h3', {}, hasTurns ? 'Messages after the end' : 'Messages'),
      detail.unsent.map((text) => said('assistant', 'Assistant', long(text, 'code')))) : null,
    (detail.unreached ?? []).length ? unreached(detail) : null);
}

function outcome(episode) {
  const facts = [
    [`${episode.passed ?? 0} of ${plural(episode.num_turns ?? 0, 'turn')}`, 'passed'],
    [(episode.progress ?? 0).toFixed(2), 'progress'],
    [(episode.reward ?? 0).toFixed(3).replace(/\.?0+$/, '') || '0', 'reward'],
    [number.format(episode.steps ?? 0), 'steps'],
    [number.format(episode.calls ?? 0), 'calls'],
    episode.errors ? [number.format(episode.errors), 'errors'] : null,
    episode.hints ? [number.format(episode.hints), 'hints'] : null,
    episode.tokens ? [number.format(episode.tokens), 'tokens'] : null,
    episode.seconds >= 0.05 ? [`${episode.seconds.toFixed(1)} s`, 'time'] : null,
    episode.step ? [episode.step, 'update'] : null,
    episode.stage ? [episode.stage, 'stage'] : null,
  ].filter(Boolean);
  const causes = [episode.failure && words(episode.failure), episode.error, episode.truncated && `cut off by ${episode.truncated}`];
  return el('div', { class: `outcome ${episode.solved ? 'good' : 'bad'}` },
    el('p', { class: 'verdict' }, el('b', {}, episode.solved ? '✓ solved' : '✗ failed'),
      causes.filter(Boolean).map((cause) => el('span', { class: 'cause' }, cause))),
    el('dl', { class: 'facts' }, facts.map(([value, name]) => el('div', {}, el('dt', {}, name), el('dd', {}, String(value))))),
    episode.under ? el('p', { class: 'small' }, `Played under ${episode.under}`) : null);
}

function turnView(turn, at, id) {
  return el('section', { class: 'turn', 'aria-labelledby': `turn-${id}` },
    el('header', {}, el('h3', { id: `turn-${id}` }, `Turn ${at + 1}`), badge(turn)),
    turn.note !== undefined ? hint(turn.note) : null,
    said('user', 'User', long(turn.request)),
    turn.tools !== undefined ? fold('Tools that came back with this request', long(turn.tools, 'code')) : null,
    turn.steps.map(stepView),
    turnEnd(turn));
}

function badge(turn) {
  if (turn.passed === undefined) return el('span', { class: 'badge' }, 'not finished');
  return el('span', { class: `badge ${turn.passed ? 'good' : 'bad'}` }, turn.passed ? '✓ passed' : '✗ not passed');
}

function stepView(step) {
  const parts = [];
  if (step.thought !== undefined) parts.push(el('div', { class: 'thought' }, long(step.thought)));
  if (step.calls) parts.push(el('div', { class: 'calls' }, step.calls.map((call) => long(call, 'code call'))));
  if (step.answer !== undefined) parts.push(long(step.answer));
  const isUnderstood = step.calls || step.answer !== undefined;
  if (!isUnderstood) parts.push(long(step.message, 'code'));
  const content = el('div', {}, parts);
  const remarks = [
    step.informal ? el('span', { class: 'remark' }, 'breaks the format') : null,
    isUnderstood ? asWritten(step.message, content) : null,
  ];
  const label = step.answer !== undefined ? 'Assistant, answer' : 'Assistant';
  return [said('assistant', label, content, remarks), ...(step.results ?? []).map(resultView)];
}

// A switch between what a message was read as and the message itself.
function asWritten(message, content) {
  const read = [...content.childNodes];
  const button = el('button', { type: 'button', class: 'switch', 'aria-pressed': 'false' }, 'as written');
  button.addEventListener('click', () => {
    const isPressed = button.getAttribute('aria-pressed') === 'false';
    button.setAttribute('aria-pressed', String(isPressed));
    replaceChildren(content, isPressed ? long(message, 'code') : read);
  });
  return button;
}

function resultView(result) {
  const failed = result.error !== undefined;
  const name = result.tool !== undefined ? plainText(result.tool) : 'could not be read';
  return said(`tool${failed ? ' failed' : ''}`, el('span', {}, 'Result ', el('code', {}, name)),
    [long(result.text, 'code'), result.hint !== undefined ? hint(result.hint) : null],
    failed ? el('span', { class: 'remark' }, words(plainText(result.error))) : null);
}

function hint(at) {
  return el('div', { class: 'hint', role: 'note' }, el('span', { class: 'hint-label' }, 'Hint (augmented)'), long(at));
}

function said(role, label, content, remark = null) {
  return el('div', { class: `said ${role}` }, el('div', { class: 'speaker' }, el('span', { class: 'who' }, label), remark), el('div', { class: 'content' }, content));
}

function turnEnd(turn) {
  const isOpen = turn.passed === undefined;
  const check = (name, holds) => el('li', { class: holds ? 'good' : 'bad' }, `${holds ? '✓' : '✗'} ${name}`);
  return el('footer', { class: 'turn-end' },
    isOpen ? null : el('ul', { class: 'checks' },
      check(turn.state ? 'state as in the ground truth' : 'state differs from the ground truth', turn.state),
      check(turn.results ? 'results obtained' : 'results missing', turn.results),
      turn.error !== undefined ? el('li', { class: 'cause' }, plainText(turn.error)) : null),
    turn.differences ? differenceTable(turn, isOpen) : null,
    turn.expected.length
      ? fold(`Ground truth: ${plural(turn.expected.length, 'call')}`, el('div', { class: 'calls' }, turn.expected.map((call) => long(call, 'code call'))), turn.passed === false)
      : el('p', { class: 'small' }, 'Ground truth: no call in this turn.'));
}

function differenceTable(turn, isOpen) {
  const cell = (at) => el('td', {}, at === null ? el('span', { class: 'none' }, 'nothing') : long(at, 'code'));
  const lines = turn.differences.map(([kind, where, expected, actual]) => el('tr', { class: kind },
    el('th', { scope: 'row' }, el('span', { class: 'kind' }, kind)), el('td', {}, pathView(where)), cell(expected), cell(actual)));
  const head = ['', 'where', 'ground truth', 'this run'].map((name) => el('th', { scope: 'col' }, name));
  return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'State difference' },
    el('table', { class: 'differences' },
      el('caption', {}, isOpen ? 'State where the episode stopped, against the ground truth of this turn' : 'State against the ground truth'),
      el('thead', {}, el('tr', {}, head)), el('tbody', {}, lines)),
    turn.hidden ? el('p', { class: 'small' }, `${number.format(turn.hidden)} more differences are not in this file.`) : null);
}

// A path may break after each of its steps.
function pathView(at) {
  const steps = plainText(at).split(/(?<=\.)|(?=\[)/);
  return el('code', { class: 'text code' }, steps.map((step) => [step, el('wbr')]));
}

function unreached(detail) {
  return el('section', { class: 'turn' }, el('header', {}, el('h3', {}, 'Not reached'), el('span', { class: 'badge' }, plural(detail.unreached.length, 'turn'))),
    detail.unreached.map((at) => said('user', 'User', long(at))));
}

function fold(title, content, isOpen = false) {
  return el('details', { open: isOpen }, el('summary', {}, title), content);
}

// A cut within a character outside of the basic plane would leave half of it.
function beginning(text) {
  return text.slice(0, /[\uD800-\uDBFF]/.test(text[SHOWN_LENGTH - 1] ?? '') ? SHOWN_LENGTH - 1 : SHOWN_LENGTH);
}

// A text of the file; what is long is folded, and what the file leaves out is said.
function long(at, kind = '') {
  const entry = kept(at);
  const block = el(kind ? 'pre' : 'div', { class: `text ${kind}`, dir: 'auto' });
  const whole = typeof entry === 'string' ? [entry] : [entry[0], el('span', { class: 'left-out' }, `${number.format(entry[1])} characters are not in this file`), entry[2]];
  const length = typeof entry === 'string' ? entry.length : entry[0].length + entry[2].length;
  const put = (parts) => replaceChildren(block, parts.map((part) => (typeof part === 'string' ? shown(part) : part)));
  if (length <= FOLDED_LENGTH) put(whole);
  else {
    const more = el('button', { type: 'button', class: 'link more', on: { click: () => { put(whole); block.tabIndex = -1; block.focus(); } } },
      `Show ${number.format(length - SHOWN_LENGTH)} more characters`);
    put([beginning(whole[0]), el('span', {}, '… '), more]);
  }
  return block;
}
