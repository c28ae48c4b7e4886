import type { Client } from 'urql';
import { OwnDocument } from '../generated/graphql.ts';
import { findPeople } from './find-people.ts';
import { namesIn, type Search, SearchProblem, searchFor, termsIn } from './query.ts';

/**
 * Reads a line that somebody has written, and finds the people it names.
 *
 * @throws SearchProblem when it means nothing, or names nobody.
 */
export async function readSearch(client: Client, text: string): Promise<Search> {
  const terms = termsIn(text);
  const ids = new Map<string, string>();
  for (const name of namesIn(terms)) ids.set(name, await idOf(client, name));
  return searchFor(terms, (name) => ids.get(name) ?? '');
}

/** By a name, or its beginning where one person alone is called so; `|` and a number tell those of one name apart. */
async function idOf(client: Client, written: string): Promise<string> {
  const { name = '', number } = /^(?<name>.*?)(?:\|(?<number>\d+))?$/s.exec(written)?.groups ?? {};
  const viewer = client.readQuery(OwnDocument, {})?.data?.viewer;
  if (name.toLowerCase() === 'me' && viewer) return viewer.id;
  const people = await findPeople(client, name);
  const exact = people.filter(
    ({ fullName, databaseId }) =>
      fullName.toLowerCase() === name.trim().toLowerCase() && (number === undefined || databaseId === Number(number)),
  );
  const active = people.filter(({ isActive }) => isActive);
  const [found, ...others] = [exact, active, people].find((some) => some.length > 0) ?? [];
  if (found === undefined) throw new SearchProblem(`There is nobody called “${name}” here.`);
  if (others.length === 0) return found.id;
  const names = [found, ...others].map(({ fullName, databaseId }) =>
    exact.length > 0 ? `${fullName}|${databaseId}` : fullName,
  );
  throw new SearchProblem(`Several people may be meant by “${name}”: ${names.join(', ')}.`);
}
