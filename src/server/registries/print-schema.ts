import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSchema, printSDL } from './schema.ts';

/** Script of `npm run schema`: writes `schema.graphql`, generated from the code. */
writeFileSync(join(import.meta.dirname, '../../../schema.graphql'), printSDL(buildSchema()));
