// The data of the page. The index is read at once, the details when the first episode is opened or searched.

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const index = read('index');
const isComparison = index.runs.length > 1;
const LETTERS = ['A', 'B'];

let details = null;
function loadDetails() {
  if (details === null) {
    details = read('details');
    document.getElementById('details').remove(); // the parsed form is enough
  }
  return details;
}

// A text that was cut is [beginning, number of characters left out, end].
function kept(at) {
  return loadDetails().strings[at];
}

function plainText(at) {
  const entry = kept(at);
  return typeof entry === 'string' ? entry : `${entry[0]}\n…\n${entry[2]}`;
}

// Each row of the list is an episode of each run, or null where a run has none.
const rows = index.rows.map((places, at) => {
  const episodes = places.map((place, run) => (place === null ? null : index.episodes[run][place]));
  return { at, places, episodes, first: episodes.find((one) => one !== null), change: changeOf(episodes) };
});

function changeOf(episodes) {
  if (!isComparison) return '';
  const [before, after] = episodes;
  if (before === null) return 'only_b';
  if (after === null) return 'only_a';
  if (Boolean(before.solved) === Boolean(after.solved)) return before.solved ? 'both_solved' : 'both_failed';
  return after.solved ? 'gained' : 'lost';
}

const CHANGES = {
  flipped: 'flipped', lost: 'solved by A only', gained: 'solved by B only', both_failed: 'failed by both',
  both_solved: 'solved by both', only_a: 'played by A only', only_b: 'played by B only',
};

// Which rows have a text in them, all details included.
function search(query) {
  const wanted = query.toLowerCase();
  const { strings, episodes } = loadDetails();
  const hits = strings.map((entry) => (typeof entry === 'string' ? entry : entry[0] + entry[2]).toLowerCase().includes(wanted));
  const mentions = (episode, detail) => episode.id.toLowerCase().includes(wanted) || holds(detail, hits);
  return new Set(rows.filter((row) => row.places.some(
    (place, run) => place !== null && mentions(index.episodes[run][place], episodes[run][place]),
  )).map((row) => row.at));
}

const NUMBERS = new Set(['hidden']); // all other numbers in details are texts
function holds(detail, hits) {
  if (typeof detail === 'number') return hits[detail];
  if (Array.isArray(detail)) return detail.some((part) => holds(part, hits));
  if (detail === null || typeof detail !== 'object') return false;
  return Object.entries(detail).some(([name, part]) => !NUMBERS.has(name) && holds(part, hits));
}
