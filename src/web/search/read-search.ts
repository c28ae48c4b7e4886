import type { Client } from 'urql';
import { globalId } from '../api/global-id.ts';
import { NO_SUCH_USER } from '../base/refusals.ts';
import { OwnDocument } from '../generated/graphql.ts';
import { namesIn, type Search, SearchProblem, searchFor, termsIn } from '../routing/query.ts';
import { plainText } from '../ui/name-words.ts';
import { findPeople } from './find-people.ts';

/** Largest possible `databaseId` of a user. The service refuses larger numbers as malformed IDs. */
const MAX_ID = 2_147_483_647;

/**
 * Parses a search and finds the users that it names.
 *
 * @throws SearchProblem if the search is invalid, or if a name matches no user or several users.
 */
export async function readSearch(client: Client, text: string): Promise<Search> {
  const terms = termsIn(text);
  const ids = new Map<string, string>();
  for (const name of namesIn(terms)) ids.set(name, await idOf(client, name));
  return searchFor(terms, (name) => ids.get(name) ?? '');
}

/**
 * Returns the ID of the user with a name. The name `me` stands for the viewer. If no user has the name, a user matches whose
 * name contains it at the start of a word; active users take precedence over deactivated users. If several users have the same
 * name, a suffix of `|` and a `databaseId` selects one of them.
 *
 * @throws SearchProblem if no user or more than one user matches.
 */
async function idOf(client: Client, written: string): Promise<string> {
  const { name = '', number } = /^(?<name>.*?)(?:\|(?<number>\d+))?$/s.exec(written)?.groups ?? {};
  const viewer = client.readQuery(OwnDocument, {})?.data?.viewer;
  if (name.toLowerCase() === 'me' && viewer) return viewer.id;
  if (name === '' && number !== undefined) {
    if (Number(number) > MAX_ID) throw new SearchProblem(NO_SUCH_USER);
    return globalId('User', number);
  }
  // The suggestions of the service ignore the order of words. Here, the words must be in the same order as in the name.
  const people = (await findPeople(client, name)).filter(({ fullName }) => hasWords(fullName, name));
  const exact = people.filter(
    ({ fullName, databaseId }) =>
      fullName.toLowerCase() === name.trim().toLowerCase() && (number === undefined || databaseId === Number(number)),
  );
  const active = people.filter(({ isActive }) => isActive);
  const [found, ...others] = [exact, active, people].find((some) => some.length > 0) ?? [];
  if (found === undefined) throw new SearchProblem(`No user is named “${name}”.`);
  if (others.length === 0) return found.id;
  const names = [found, ...others].map(({ fullName, databaseId }) =>
    exact.length > 0 ? `${fullName}|${databaseId}` : fullName,
  );
  throw new SearchProblem(`“${name}” matches several users: ${names.join(', ')}.`);
}

/**
 * Returns whether a name contains the words of a text in sequence. The first word must begin a word of the name. Ignores case
 * and accents.
 */
function hasWords(fullName: string, written: string): boolean {
  const words = plainText(written).trim();
  // A name of only punctuation has no words.
  if (words === '') return fullName === written.trim();
  return ` ${plainText(fullName)}`.includes(` ${words}`);
}
