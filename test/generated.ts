// Checks that generated files match their sources: the Prisma client, the migrations, schema.graphql and the table of totals
// (limits on stored objects) in src/api/README.md.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { README, withTotals } from './print-totals.ts';
import { schemaDrift } from './schema-drift.ts';

const root = join(import.meta.dirname, '..');
const generated = join(root, 'src/generated');

function fingerprint(): string {
  const hash = createHash('sha256');
  for (const entry of readdirSync(generated, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) hash.update(entry.name).update(readFileSync(join(entry.parentPath, entry.name)));
  }
  return hash.digest('hex');
}

const problems: string[] = [];

const before = fingerprint();
execFileSync('node', ['prisma/generate.ts'], { cwd: root, stdio: 'pipe' });
if (fingerprint() !== before) problems.push('src/generated did not follow prisma/schema.prisma: it was made anew now');

const drift = await schemaDrift();
if (drift !== '') problems.push(`prisma/migrations lack what prisma/schema.prisma says:\n${drift}`);

const { buildSchema, printSDL } = await import('../src/server/registries/schema.ts');
if (readFileSync(join(root, 'schema.graphql'), 'utf8') !== printSDL(buildSchema())) {
  problems.push('schema.graphql is not what the code says: run "npm run schema"');
}

const readme = readFileSync(README, 'utf8');
if (readme !== withTotals(readme))
  problems.push('src/api/README.md lacks totals that the code says: run "npm run schema"');

for (const problem of problems) console.error(problem);
process.exit(problems.length > 0 ? 1 : 0);
