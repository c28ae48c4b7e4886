import { type Html, html } from '../../api/html.ts';

/** The words that a part of a page is found by, as its attribute has them. */
export const searchTerms = (words: readonly string[]): string => words.join(' ').toLowerCase();

/** A field that leaves of a page what holds every word in it. */
export const searchField = (label: string, hint: string): Html => html`<div class="search">
<label>${label} <input type="search" id="search" placeholder="${hint}" autocomplete="off" spellcheck="false"></label>
<p class="soft" id="found" role="status"></p>
</div>`;

/** Hides what does not hold the words, and each group of which nothing is left. */
export const SEARCH_SCRIPT = `
const search = document.getElementById('search');
const parts = [...document.querySelectorAll('[data-terms]')];
const groups = [...document.querySelectorAll('[data-group]')];
const find = () => {
  const words = search.value.toLowerCase().split(/\\s+/).filter((word) => word !== '');
  for (const part of parts) part.hidden = !words.every((word) => part.dataset.terms.includes(word));
  for (const group of groups) {
    group.hidden = group.querySelector('[data-terms]:not([hidden])') === null;
    if (group.localName === 'details') group.open = words.length > 0;
  }
  const found = document.querySelectorAll('article:not([hidden])').length;
  document.getElementById('found').textContent = words.length === 0 ? '' : found === 0 ? 'Nothing found' : found + ' found';
};
search.addEventListener('input', find);
// Whoever comes back finds the words still there.
if (search.value !== '') find();
`;
