import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { App, Ctx } from '../../access/context.ts';
import { actAs } from '../../access/sign-in.ts';
import { createBot } from '../../administration/bots/service.ts';
import { createOrganization, openOrganization, UNFINISHED } from '../../administration/organization/service.ts';
import { updateOrganization } from '../../administration/organization/update.ts';
import { archiveChannel } from '../../channels/archive.ts';
import { createChannel } from '../../channels/create.ts';
import { createChannelFolder } from '../../channels/folders/service.ts';
import { Prisma, type User } from '../../generated/prisma/client.ts';
import { createDrafts } from '../../messages/drafts/service.ts';
import { createSavedSnippet } from '../../messages/snippets/service.ts';
import { holdingLock } from '../../platform/db/advisory-lock.ts';
import { urlOf } from '../../platform/hosts.ts';
import { ADMINISTRATOR, GUEST, MEMBER, MODERATOR } from '../../platform/roles.ts';
import { type ShownUser, shownUser } from '../operator/commands.ts';
import { type DemoOwner, startUrlOf } from './demo-access.ts';
import { makeMessages } from './demo-messages.ts';
import { makePeople } from './demo-people.ts';

/** Content of DATA_DIR/demo.json: the URLs of the demo, and the credentials of each demo user. */
interface DemoFile {
  readonly url: string;
  /** URL that signs a browser in to the pages as the demo owner. Null if no page can show the API key of the owner. */
  readonly start_url: string | null;
  readonly organization: string;
  readonly users: readonly ShownUser[];
}

const ORGANIZATION_NAME = 'Harbour Works';
const OWNER_NAME = 'Iris Haddad';

/** All people of the demo except the owner, in the order of the demo file. */
const PEOPLE = [
  { fullName: 'Aaron Weiss', email: 'aaron@example.com', role: ADMINISTRATOR },
  { fullName: 'Mona Lindqvist', email: 'mona@example.com', role: MODERATOR },
  { fullName: 'Bela Novak', email: 'bela@example.com', role: MEMBER },
  { fullName: 'Cleo Dumas', email: 'cleo@example.com', role: MEMBER },
  { fullName: 'Dana Okafor', email: 'dana@example.com', role: MEMBER },
  { fullName: 'Gus Marino', email: 'gus@example.org', role: GUEST },
] as const;

/**
 * Creates the demo organization if the database is empty, and writes the API keys of its users to DATA_DIR/demo.json. Later
 * starts update the file with the current URLs and keys.
 *
 * The organization stays deactivated until it is complete and the file is written. If a start finds it deactivated, an earlier
 * start crashed. The database then contains no other organization, so all data is deleted, and the demo is created again.
 *
 * @returns The owner of the demo. Null if this data directory has no demo.
 */
export async function prepareDemo(app: App): Promise<DemoOwner | null> {
  if (!app.config.demo) return null;
  await holdingLock(app.config, 'demo', async () => {
    const organizations = await app.db.organization.findMany({ select: { deactivatedAt: true }, take: 2 });
    const [only] = organizations;
    if (organizations.length === 1 && only?.deactivatedAt?.getTime() === UNFINISHED.getTime()) {
      app.log.warn('demo organization was incomplete after the previous start, creating it again');
      await clearDatabase(app);
      await makeDemo(app);
    }
    if (organizations.length === 0) await makeDemo(app);
  });
  return refreshDemoFile(app);
}

/**
 * Deletes the data of all organizations: empties `realm` and every table with a column `realm_id`. The tables are read from the
 * catalog, because foreign keys do not connect all of them with `realm`.
 */
export async function clearDatabase({ db }: Pick<App, 'db'>): Promise<void> {
  const tables = await db.$queryRaw<{ name: string }[]>`
    SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'realm_id'
    WHERE c.relkind = 'r' AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND NOT a.attisdropped`;
  const names = ['realm', ...tables.map(({ name }) => name)].join(', ');
  await db.$executeRaw`TRUNCATE ${Prisma.raw(names)} RESTART IDENTITY CASCADE`;
}

/** Creates the demo by calling the services, so that its event log is as complete as in a real organization. */
async function makeDemo(app: App): Promise<void> {
  const { organization, owner, people } = await createOrganization(app, {
    subdomain: '',
    name: ORGANIZATION_NAME,
    owner: { fullName: OWNER_NAME, email: 'iris@example.com' },
    people: PEOPLE,
    unfinished: true,
  });
  const [, mona, bela, cleo, dana, gus] = people.map(({ user }) => user);
  if (!mona || !bela || !cleo || !dana || !gus) throw new Error('A demo user is missing');
  const asOwner = await actAs(app, owner.user);
  // Read receipts are off by default in every organization, but the demo shows all features.
  await updateOrganization(asOwner, { settings: { enable_read_receipts: true } });
  const bot = await createBot(asOwner, { fullName: 'Build Bot', shortName: 'build' });
  const everyone = [owner, ...people, bot].map(({ user }) => user.id);
  const channels = await makeChannels(asOwner, {
    everyone,
    members: everyone.filter((id) => id !== gus.id),
    leads: [owner.user.id, mona.id],
    project: [owner.user.id, bela.id, cleo.id, gus.id, bot.user.id],
  });
  await makePeople(app, { iris: owner.user, mona, bela, cleo, dana });
  await makeNotes(app, { iris: owner.user, bela, cleo, dana }, channels);
  await makeMessages(app, { iris: owner.user, mona, bela, cleo, gus }, channels);
  const users = [owner, ...people, bot].map(({ user, apiKey }) => shownUser(user, apiKey));
  writeDemoFile(app, { url: urlOf(app.config, organization.subdomain), organization: organization.name, users });
  await openOrganization(app, organization.id);
}

type Team = 'everyone' | 'members' | 'leads' | 'project';

async function makeChannels(ctx: Ctx, teams: Record<Team, readonly number[]>) {
  const company = await createChannelFolder(ctx, { name: 'Company', description: 'For **everyone** here.' });
  const work = await createChannelFolder(ctx, { name: 'Work', description: 'One channel for each thing we build.' });
  const general = await createChannel(ctx, {
    name: 'general',
    description: 'Whatever concerns all of us.',
    subscriberIds: teams.everyone,
    folderId: company.id,
  });
  await createChannel(ctx, {
    name: 'announcements',
    description: 'News from the company. Read it once a day.',
    subscriberIds: teams.members,
    isDefault: true,
    folderId: company.id,
  });
  const website = await createChannel(ctx, {
    name: 'website',
    description: 'The new website: design, text and launch. See the [plan](https://example.com/plan).',
    subscriberIds: teams.project,
    folderId: work.id,
  });
  await createChannel(ctx, {
    name: 'leads',
    description: 'Hiring and budgets.',
    isPrivate: true,
    subscriberIds: teams.leads,
    folderId: company.id,
  });
  const fair = await createChannel(ctx, {
    name: 'boat fair 2025',
    description: 'The stand, the flyers and the crew.',
    subscriberIds: teams.members,
    folderId: work.id,
  });
  await archiveChannel(ctx, fair);
  return { general, website };
}

async function makeNotes(
  app: App,
  { iris, bela, cleo, dana }: Record<'iris' | 'bela' | 'cleo' | 'dana', User>,
  { general, website }: { general: number; website: number },
): Promise<void> {
  const asIris = await actAs(app, iris);
  await createSavedSnippet(asIris, { title: 'Welcome', content: 'Welcome aboard! Start with #**general**.' });
  await createSavedSnippet(asIris, {
    title: 'Out of office',
    content: 'I am away until **Monday**; Mona knows it all.',
  });
  await createDrafts(asIris, [
    { type: 'stream', to: [general], topic: 'summer party', content: 'How about the *old dock*, on the 12th?' },
    { type: 'private', to: [bela.id, cleo.id], topic: '', content: 'Do you have an hour for the launch plan?' },
  ]);
  const asBela = await actAs(app, bela);
  await createSavedSnippet(asBela, { title: 'Deploy checklist', content: '1. Tests are green\n2. Tell Cleo\n3. Go' });
  await createDrafts(asBela, [
    { type: 'stream', to: [website], topic: 'launch', content: 'The build takes 40 s now.' },
  ]);
  await createDrafts(await actAs(app, dana), [{ type: '', to: [], topic: '', content: 'Ask about the printer' }]);
}

/** Returns the path of the demo file, which contains the URLs of the demo and the credentials of its users. */
export const demoFile = ({ config }: Pick<App, 'config'>): string => join(config.dataDir, 'demo.json');

/** Writes the demo file atomically. Only the operating system user that runs the server can read it. */
function writeDemoFile(app: App, { url, ...demo }: Omit<DemoFile, 'start_url'>): void {
  const path = demoFile(app);
  mkdirSync(app.config.dataDir, { recursive: true, mode: 0o700 });
  const file: DemoFile = { url, start_url: startUrlOf(app), ...demo };
  writeFileSync(`${path}.new`, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
}

function readDemoFile(app: App): DemoFile | undefined {
  try {
    const demo = JSON.parse(readFileSync(demoFile(app), 'utf8')) as DemoFile;
    return Array.isArray(demo.users) ? demo : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Updates the demo file, and returns the owner of the demo. At least one API key in the file must be valid, which shows that
 * the file belongs to this database. Otherwise another user with the id of the demo owner could be taken for the owner.
 *
 * @returns Null if there is no demo, or if the file belongs to another database.
 */
export async function refreshDemoFile(app: App): Promise<DemoOwner | null> {
  const demo = app.config.demo ? readDemoFile(app) : undefined;
  if (demo === undefined) return null;
  const rows = await app.db.user.findMany({
    where: { id: { in: demo.users.map(({ user_id }) => user_id) }, isActive: true },
    include: { apiKey: true, organization: true },
  });
  const users = demo.users.flatMap((known) => {
    const row = rows.find(({ id, email }) => id === known.user_id && email === known.email);
    return row?.apiKey == null ? [] : [{ row, known, hash: Buffer.from(row.apiKey.hash), sealed: row.apiKey.sealed }];
  });
  const good = users.find(({ known, hash }) => hash.equals(app.keys.hash(known.api_key)));
  if (good === undefined) return null;
  const ours = users.filter(({ row }) => row.organizationId === good.row.organizationId);
  const shown = ours.map(({ row, sealed }) => shownUser(row, app.keys.open(sealed)));
  const { organization } = good.row;
  writeDemoFile(app, { url: urlOf(app.config, organization.subdomain), organization: organization.name, users: shown });
  const owner = shown.find(({ role }) => role === 'owner');
  const userIds = shown.map(({ user_id }) => user_id);
  return owner === undefined ? null : { email: owner.email, apiKey: owner.api_key, userIds };
}
