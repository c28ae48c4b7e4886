import { type Html, html } from '../../api/html.ts';

/** Returns the `data-terms` attribute of a part of a page: the words by which the search field of the page finds that part. */
export const searchTerms = (words: readonly string[]): string => words.join(' ').toLowerCase();

/**
 * Returns a search field as HTML. With `SEARCH_SCRIPT`, only the parts of the page that match all words in the field stay
 * visible.
 */
export const searchField = (label: string, hint: string): Html => html`<div class="search">
<label>${label} <input type="search" id="search" placeholder="${hint}" autocomplete="off" spellcheck="false"></label>
<p class="soft" id="found" role="status"></p>
</div>`;

/**
 * Script that hides the parts of a page that do not match all words in the search field. It also hides groups without visible
 * parts.
 */
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
// Browsers restore the words when the user navigates back.
if (search.value !== '') find();
`;
