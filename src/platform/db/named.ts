import { Prisma } from '../../generated/prisma/client.ts';
import { filterWords, nameWords } from '../folding.ts';

/** The columns of a table that contain a name, and the words of the name. */
interface NameColumns {
  readonly name: Prisma.Sql;
  readonly words: Prisma.Sql;
}

/** Returns the SQL condition that a name matches a text. Equivalent to `nameFilter` in ../folding.ts. */
export function isNamed(text: string, { name, words: column }: NameColumns): Prisma.Sql {
  const isWritten = Prisma.sql`strpos(lower(${name}), lower(${text}::text)) > 0`;
  const words = nameWords(text);
  if (words === '') return isWritten;
  // The words need no escaping: they contain no punctuation, so neither the wildcards nor the escape character of LIKE.
  const patterns = filterWords(words).map((word) => `% ${word}%`);
  return Prisma.sql`
    (${isWritten} OR strpos(${column}, ${words}::text) > 0 OR ' ' || ${column} LIKE ALL (${patterns}::text[]))`;
}
