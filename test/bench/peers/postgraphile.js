// PostGraphile 5, which makes its GraphQL schema from views and functions, and compiles parts of a document to one statement.
import { createServer } from 'node:http';
import { MAKE, SETTINGS } from './postgraphile-schema.js';
import { openPool, signInWith, workAsPeer } from './served.js';

const GUEST = 600;

// The mode that its users run in production. In the default mode, it checks itself at run time.
process.env.GRAPHILE_ENV = 'production';
const { postgraphile } = await import('postgraphile');
const { PostGraphileAmberPreset } = await import('postgraphile/presets/amber');
const { makePgService } = await import('postgraphile/adaptors/pg');
const { grafserv } = await import('postgraphile/grafserv/node');

workAsPeer(async (input) => {
  const pool = openPool(input);
  const { rows } = await pool.query(`SELECT to_regnamespace('peer') IS NULL AS wanted`);
  if (rows[0].wanted) await pool.query(MAKE);
  const signIn = signInWith(pool, input.together);
  const serving = postgraphile({
    extends: [PostGraphileAmberPreset],
    pgServices: [makePgService({ pool, schemas: ['peer'] })],
    grafserv: { graphqlPath: '/graphql', graphiql: false, watch: false },
    grafast: {
      explain: false,
      context: async ({ node }) => {
        const viewer = await signIn(node.req);
        const isGuest = viewer.role === GUEST;
        return {
          pgSettings: {
            [SETTINGS.viewer]: String(viewer.id),
            [SETTINGS.realm]: String(viewer.realm_id),
            [SETTINGS.guest]: String(isGuest),
          },
        };
      },
    },
  }).createServ(grafserv);
  const server = createServer({ keepAliveTimeout: 75_000 });
  await serving.addTo(server);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server.address().port;
});
