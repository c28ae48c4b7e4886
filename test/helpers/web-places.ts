import type { Locator, Page } from 'playwright-core';
import { type Chatter, message } from './web.ts';

/** A message to act upon, which was edited and has a reaction. */
const SUBJECT = 'Look at this one';
const GROUP = 'lookouts';

/** Shows a place, from wherever the page is. */
type Show = (page: Page) => Promise<Locator>;

/** Every view of the chat by what it is called here, with its address: that of a channel needs the channel's id. */
const ADDRESSES = {
  inbox: '/inbox',
  'all messages': '/views/all',
  mentions: '/views/mentions',
  starred: '/views/starred',
  drafts: '/writing/drafts',
  channel: '/channels/CHANNEL/website',
  topic: '/channels/CHANNEL/website/.launch',
  'all topics': '/channels/CHANNEL/website/topics',
  conversation: '/direct/PERSON',
  'all channels': '/channels',
  people: '/people',
  groups: '/people/groups',
  profile: '/settings/profile',
  account: '/settings/account',
  preferences: '/settings/preferences',
  notifications: '/settings/notifications',
} as const;
export type View = keyof typeof ADDRESSES;

export const VIEWS = Object.keys(ADDRESSES) as View[];

const dialog = (page: Page): Locator => page.getByRole('dialog').last();
const press = (within: Page | Locator, name: string | RegExp) => within.getByRole('button', { name }).first().click();

async function inDialog(page: Page, ...names: readonly string[]): Promise<Locator> {
  for (const name of names) await press(dialog(page), name);
  await dialog(page).waitFor();
  return dialog(page);
}

const opening =
  (name: string | RegExp, ...then: readonly string[]): Show =>
  async (page) => {
    await press(page.getByRole('main'), name);
    await dialog(page).waitFor();
    return inDialog(page, ...then);
  };

const opensMenu =
  (name: string): Show =>
  async (page) => {
    await press(page.getByRole('main'), name);
    const menu = page.getByRole('menu');
    await menu.getByRole('menuitem').first().waitFor();
    return menu;
  };

const ofMenu =
  (opens: Show, item: string): Show =>
  async (page) => {
    await (await opens(page)).getByRole('menuitem', { name: item }).click();
    await dialog(page).waitFor();
    return dialog(page);
  };

const messageMenu: Show = async (page) => {
  const subject = message(page, SUBJECT).last();
  await subject.hover();
  await press(subject, 'More actions');
  const menu = page.getByRole('menu');
  await menu.getByRole('menuitem').first().waitFor();
  return menu;
};

/** Every main dialog and menu, with the view that it is opened from. */
const OPENED = {
  'person card': ['people', opening('Mona Lindqvist')],
  status: ['people', opening('Iris Haddad', 'Set status')],
  'person menu': ['people', opensMenu('Manage Mona Lindqvist')],
  role: ['people', ofMenu(opensMenu('Manage Mona Lindqvist'), 'Change role…')],
  deactivation: ['people', ofMenu(opensMenu('Manage Mona Lindqvist'), 'Deactivate…')],
  'new group': ['groups', opening('Make a group')],
  group: ['groups', opening(GROUP)],
  'group in general': ['groups', opening(GROUP, 'General')],
  'permissions of a group': ['groups', opening(GROUP, 'Permissions')],
  'deactivation of a group': ['groups', opening(GROUP, 'General', 'Deactivate the group')],
  'new channel': ['all channels', opening('Create a channel')],
  folders: ['all channels', opening('Folders')],
  'own subscription': ['channel', opening('Channel settings')],
  'channel in general': ['channel', opening('Channel settings', 'General')],
  subscribers: ['channel', opening('Channel settings', 'Subscribers')],
  'permissions of a channel': ['channel', opening('Channel settings', 'Permissions')],
  'channel menu': ['channel', opensMenu('Channel actions')],
  'topic menu': ['topic', opensMenu('Topic actions')],
  'message menu': ['topic', messageMenu],
  'edit history': ['topic', ofMenu(messageMenu, 'Edit history')],
  'read receipts': ['topic', ofMenu(messageMenu, 'Who has read it')],
  report: ['topic', ofMenu(messageMenu, 'Report…')],
  move: ['topic', ofMenu(messageMenu, 'Move…')],
  'deletion of a message': ['topic', ofMenu(messageMenu, 'Delete…')],
} as const satisfies Record<string, readonly [from: View, Show]>;
export type Opened = keyof typeof OPENED;

export const DIALOGS = Object.keys(OPENED) as Opened[];

/** Sees to it that there is something to be seen in every place. @param other Who wrote the message to act upon. */
export async function fillPlaces({ person }: Pick<Chatter, 'person'>, other: Chatter['person']): Promise<void> {
  await person.ok('POST', '/user_groups/create', {
    name: GROUP,
    description: 'Who keeps an eye on things.',
    members: [person.id, other.id],
  });
  const to = { type: 'channel', to: 'website', topic: 'launch' };
  const { id } = await other.ok('POST', '/messages', { ...to, content: 'Look' });
  await other.ok('PATCH', `/messages/${id}`, { content: `${SUBJECT}: \`code\`, **strong** and @**Iris Haddad**` });
  await person.ok('POST', `/messages/${id}/reactions`, { emoji_name: 'tada' });
  await other.ok('POST', '/messages', { type: 'direct', to: [person.id], content: 'Are you there?' });
}

/** Shows a view, or a dialog in front of its view. @returns What is shown. */
export async function show({ page, person }: Chatter, name: View | Opened): Promise<Locator> {
  for (const opened of await page.getByRole('dialog').all()) {
    if (await opened.isVisible().catch(() => false)) await page.keyboard.press('Escape');
  }
  await page.keyboard.press('Escape');
  const [from, open] = name in OPENED ? OPENED[name as Opened] : [name as View, undefined];
  await go(page, await addressOf(person, ADDRESSES[from]));
  return open === undefined ? page.getByRole('main') : open(page);
}

async function addressOf(person: Chatter['person'], address: string): Promise<string> {
  const { channels, users } = await person.query(
    '{ channels(first: 1, nameContains: "website") { nodes { id } } users(first: 1, nameContains: "Mona") { nodes { id } } }',
  );
  return address.replace('CHANNEL', channels.nodes[0].id).replace('PERSON', users.nodes[0].id);
}

/** As a link of the page does: without loading it again. */
async function go(page: Page, address: string): Promise<void> {
  await page.evaluate((to) => {
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, address);
  const main = page.getByRole('main');
  await main.getByRole('heading', { level: 1 }).waitFor();
  await main
    .locator('.page li, .page input:not([hidden]), .message-list[aria-busy=false], .inbox, .topics li, .writing')
    .first()
    .waitFor();
}
