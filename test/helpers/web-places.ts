import type { Locator, Page } from 'playwright-core';
import { PNG } from './pictures.ts';
import { type Chatter, chooseOption, message, sidebarOf } from './web.ts';

/** Text of another user's message on which the tests act. It was edited and has a reaction. */
const SUBJECT = 'Look at this one';
/** Text of a message of the viewer. */
const OWN = 'I will look into it';
const GROUP = 'lookouts';
const BOT = 'Tide clock';

/** A function that shows a view, menu or dialog, starting at any page, and resolves with the shown element. */
type Show = (page: Page) => Promise<Locator>;

/** Paths of all views of the chat, by name. CHANNEL and PERSON are replaced with ids. */
const ADDRESSES = {
  inbox: '/inbox',
  'all messages': '/views/all',
  mentions: '/views/mentions',
  starred: '/views/starred',
  drafts: '/writing/drafts',
  scheduled: '/writing/scheduled',
  snippets: '/writing/snippets',
  reminders: '/writing/reminders',
  'terms of a search': '/search',
  'search results': '/search/look',
  'nothing found': '/search/nothing-of-the-kind',
  'meaningless search': '/search/colour%3Ared',
  channel: '/channels/CHANNEL/website',
  topic: '/channels/CHANNEL/website/.launch',
  'all topics': '/channels/CHANNEL/website/topics',
  conversation: '/direct/PERSON',
  'all channels': '/channels',
  people: '/people',
  groups: '/people/groups',
  invitations: '/people/invitations',
  profile: '/settings/profile',
  account: '/settings/account',
  preferences: '/settings/preferences',
  'audit log': '/settings/audit-log',
  'list of settings': '/settings',
  'organization settings': '/settings/organization',
  'organization permissions': '/settings/permissions',
  'administration of people': '/settings/people',
  bots: '/settings/bots',
  'custom emoji': '/settings/emoji',
  'profile fields': '/settings/profile-fields',
  domains: '/settings/domains',
  'default channels': '/settings/default-channels',
  'channel folders': '/settings/folders',
  usage: '/settings/usage',
  notifications: '/settings/notifications',
  'recent conversations': '/inbox/recent',
  'single sign-on': '/settings/single-sign-on',
  'API keys': '/settings/api-keys',
  'sign-in security': '/settings/security',
} as const;
export type View = keyof typeof ADDRESSES;

export const VIEWS = Object.keys(ADDRESSES) as View[];

/** Returns whether a view is for joining, signing in, or administering the organization. */
const administers = (view: View): boolean => /^\/(settings|people)\//.test(ADDRESSES[view]);

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

/** Returns a function that performs a step on the page, then shows an element. */
const first =
  (does: (page: Page) => Promise<unknown>, then: Show): Show =>
  async (page) => {
    await does(page);
    return then(page);
  };

const messageMenu: Show = async (page) => {
  const subject = message(page, SUBJECT).last();
  await subject.hover();
  await press(subject, 'More actions');
  const menu = page.getByRole('menu');
  await menu.getByRole('menuitem').first().waitFor();
  return menu;
};

/** Returns a function that opens a submenu, which replaces its parent menu. */
const menuOf =
  (opens: Show, item: string, label: string): Show =>
  async (page) => {
    await (await opens(page)).getByRole('menuitem', { name: item }).click();
    const menu = page.getByRole('menu', { name: label });
    await menu.getByRole('menuitem').first().waitFor();
    return menu;
  };

/** Returns the sidebar. On a narrow screen it replaces the current view. */
async function sidebar(page: Page): Promise<Locator> {
  const back = page.getByRole('button', { name: 'Back to sidebar' });
  if (await back.isVisible()) await back.click();
  return sidebarOf(page);
}

/** Shows the secret of a new authenticator app, which the server returns after the first form. */
const authenticatorApp: Show = async (page) => {
  const shown = await opening('Add an authenticator app', 'Continue')(page);
  await shown.getByRole('form', { name: 'Confirm the authenticator app' }).waitFor();
  return shown;
};

const composer = (page: Page): Locator => page.getByRole('form', { name: 'Write a message' });
const writes = (text: string) => (page: Page) =>
  composer(page)
    .getByLabel(/^Message /)
    .fill(text);

/** Returns a function that shows the format buttons of a form. */
const formatting =
  (form: (page: Page) => Promise<Locator>): Show =>
  async (page) => {
    const within = await form(page);
    const bar = within.getByRole('toolbar', { name: 'Formatting' });
    const fold = within.getByRole('button', { name: 'Format', expanded: false });
    if (await fold.isVisible()) await fold.click();
    await bar.getByRole('button', { name: 'Formula' }).waitFor();
    return bar;
  };

async function editForm(page: Page): Promise<Locator> {
  const own = message(page, OWN).last();
  await own.hover();
  await press(own, 'More actions');
  await page.getByRole('menuitem', { name: 'Edit', exact: true }).click();
  return page.getByRole('form', { name: 'Edit message' });
}

const preview: Show = async (page) => {
  await writes('**Look** at `this` https://example.com')(page);
  await press(composer(page), 'Preview');
  const shown = page.getByRole('region', { name: 'Preview' });
  await shown.locator('strong').waitFor();
  return shown;
};

/** Shows the members of a channel: in a column or, on a narrow screen, in a dialog. */
const members: Show = async (page) => {
  const button = page.getByRole('main').getByRole('button', { name: /^Members, / });
  if ((await button.getAttribute('aria-expanded')) !== 'true') await button.click();
  const list = page.getByRole('list', { name: 'Members' });
  await list.getByRole('listitem').filter({ hasText: 'Iris Haddad' }).waitFor();
  return list;
};

const emojiPicker: Show = async (page) => {
  await press(composer(page), 'Emoji');
  await page.getByRole('option', { name: 'tada' }).waitFor();
  return page.getByRole('listbox', { name: 'Emoji' });
};

/**
 * Returns a function that opens a dialog with a search field.
 *
 * @param text Text to type.
 * @param option A suggestion to wait for.
 */
const finding =
  (key: string, text: string, option: string | RegExp): Show =>
  async (page) => {
    await page.keyboard.press(key);
    await dialog(page).getByRole('combobox').fill(text);
    await dialog(page).getByRole('option', { name: option }).first().waitFor();
    return dialog(page);
  };

/** Shows suggestions in the message field. */
const suggestions: Show = async (page) => {
  const field = composer(page).getByLabel(/^Message /);
  await field.fill('');
  await field.pressSequentially('@mon');
  const list = page.getByRole('listbox', { name: 'Suggestions' });
  await list.getByRole('option').first().waitFor();
  return list;
};

const keyboardHelp: Show = async (page) => {
  await press(await sidebar(page), 'Keyboard shortcuts');
  await dialog(page).waitFor();
  return dialog(page);
};

const moreViews: Show = async (page) => {
  const places = await sidebar(page);
  const more = places.getByRole('button', { name: 'More views' });
  if (await more.isVisible()) await more.click();
  await places.getByRole('link', { name: 'Reactions' }).waitFor();
  return places;
};

const viewsMenu: Show = async (page) => {
  await press(await sidebar(page), 'Arrange views');
  return page.getByRole('menu', { name: 'Views' });
};

const viewMenu: Show = async (page) => {
  await (await sidebar(page)).getByRole('link', { name: 'Starred' }).click({ button: 'right' });
  return page.getByRole('menu', { name: 'Starred' });
};

/** Shows the fields for a value of a setting that is not offered. */
const otherValue: Show = async (page) => {
  await chooseOption(page.getByRole('combobox', { name: 'Time limit for edits' }), 'Other…');
  return page.getByRole('spinbutton', { name: 'Time limit for edits, in minutes' });
};

const holders: Show = async (page) => {
  const name = 'Create public channels';
  await chooseOption(page.getByRole('combobox', { name, exact: true }), 'Specific users and groups…');
  await page.getByRole('combobox', { name: `${name}: users and groups` }).fill('Mo');
  const found = page.getByRole('option', { name: 'Mona Lindqvist' });
  await found.waitFor();
  return found;
};

const noSetting: Show = async (page) => {
  await page.getByRole('searchbox', { name: 'Find a setting' }).fill('nothing of the kind');
  const note = page.getByText('No settings found.');
  await note.waitFor();
  return note;
};

/** Shows the details of the newest entry of the audit log about an invitation. */
const auditEntry: Show = async (page) => {
  const entry = page.getByRole('list', { name: 'Entries' }).getByRole('listitem').filter({ hasText: 'an invitation' });
  await entry.first().locator('summary').click();
  await entry.first().getByText('reusable link').waitFor();
  return entry.first();
};

/** Every main dialog and menu, with the view that it is opened from. */
const OPENED = {
  'person card': ['people', opening('Mona Lindqvist')],
  status: ['people', opening('Iris Haddad', 'Set status')],
  'person menu': ['people', opensMenu('Manage Mona Lindqvist')],
  role: ['people', ofMenu(opensMenu('Manage Mona Lindqvist'), 'Change role…')],
  deactivation: ['people', ofMenu(opensMenu('Manage Mona Lindqvist'), 'Deactivate…')],
  'new invitation': ['invitations', opening('Invite people')],
  'revocation of an invitation': ['invitations', opening('Revoke the link')],
  'new identity provider': ['single sign-on', opening('Add a provider')],
  'new group': ['groups', opening('Create a group')],
  group: ['groups', opening(GROUP)],
  'group in general': ['groups', opening(GROUP, 'General')],
  'permissions of a group': ['groups', opening(GROUP, 'Permissions')],
  'deactivation of a group': ['groups', opening(GROUP, 'General', 'Deactivate group')],
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
  'read receipts': ['topic', ofMenu(messageMenu, 'Read receipts')],
  report: ['topic', ofMenu(messageMenu, 'Report…')],
  move: ['topic', ofMenu(messageMenu, 'Move…')],
  'deletion of a message': ['topic', ofMenu(messageMenu, 'Delete…')],
  'remind menu': ['topic', menuOf(messageMenu, 'Remind me', 'Remind me')],
  'time of a reminder': ['topic', ofMenu(menuOf(messageMenu, 'Remind me', 'Remind me'), 'Another time…')],
  'form to edit': ['topic', formatting(editForm)],
  'formatting bar': ['topic', formatting(async (page) => composer(page))],
  suggestions: ['topic', suggestions],
  preview: ['conversation', preview],
  'emoji picker': ['topic', emojiPicker],
  'snippet menu': ['topic', opensMenu('Saved snippets')],
  'send-later menu': ['topic', first(writes('Not now'), opensMenu('Send later'))],
  'time to send': ['topic', ofMenu(first(writes('Not now'), opensMenu('Send later')), 'Another time…')],
  'scheduled message': ['scheduled', opening('Edit')],
  'deletion of a scheduled message': ['scheduled', opening('Delete')],
  'new snippet': ['snippets', opening('New snippet')],
  snippet: ['snippets', opening('Edit')],
  'deletion of a snippet': ['snippets', opening('Delete')],
  'search dialog': ['inbox', finding('/', 'from:mona', /Mona Lindqvist/)],
  'change of a search': ['search results', opening('Change')],
  'keeping a search': ['search results', opening('Save search to sidebar')],
  'jump dialog': ['inbox', finding('Control+k', 'we', 'website')],
  'new invitation link': ['invitations', opening('Invite people', 'By link')],
  'password and second factor of a person': ['administration of people', opensMenu('Manage Mona Lindqvist')],
  'sessions of a person': ['administration of people', ofMenu(opensMenu('Manage Mona Lindqvist'), 'Sessions…')],
  'identities of a person': [
    'administration of people',
    ofMenu(opensMenu('Manage Mona Lindqvist'), 'Linked identities…'),
  ],
  'reset of a second factor': [
    'administration of people',
    ofMenu(opensMenu('Manage Mona Lindqvist'), 'Reset second factor…'),
  ],
  'new bot': ['bots', opening('Create bot')],
  bot: ['bots', ofMenu(opensMenu(`Manage ${BOT}`), 'Edit…')],
  'API keys of a bot': ['bots', ofMenu(opensMenu(`Manage ${BOT}`), 'API keys…')],
  'new key of a bot': ['bots', ofMenu(opensMenu(`Manage ${BOT}`), 'New API key…')],
  'deactivation of a bot': ['bots', ofMenu(opensMenu(`Manage ${BOT}`), 'Deactivate…')],
  'deactivation of an emoji': ['custom emoji', opening('Deactivate lighthouse')],
  'new profile field': ['profile fields', opening('Add a field')],
  'profile field': ['profile fields', opening(/^Edit /)],
  'deletion of a profile field': ['profile fields', opening(/^Delete /)],
  'removal of a domain': ['domains', opening('Remove harbour.example')],
  'channel folder': ['channel folders', opening(/^Edit /)],
  'identity provider': ['single sign-on', opening('Edit Sign in with Harbour')],
  'deletion of an identity provider': ['single sign-on', opening('Delete Sign in with Harbour')],
  'new API key': ['API keys', opening('Create a key')],
  'name of an API key': ['API keys', opening('Rename Backup')],
  'revocation of an API key': ['API keys', opening('Revoke Backup')],
  'replacement of the API key': ['API keys', opening('Replace the default key')],
  'new authenticator app': ['account', opening('Add an authenticator app')],
  'authenticator app': ['account', authenticatorApp],
  'setting with another value': ['organization settings', otherValue],
  'holders of a permission': ['organization permissions', holders],
  'search for a setting': ['organization permissions', noSetting],
  'entry of the audit log': ['audit log', auditEntry],
  'members of a channel': ['channel', members],
  'keyboard help': ['inbox', keyboardHelp],
  sidebar: ['inbox', sidebar],
  'more views': ['inbox', moreViews],
  'views menu': ['inbox', viewsMenu],
  'menu of a view': ['inbox', viewMenu],
} as const satisfies Record<string, readonly [from: View, Show]>;
export type Opened = keyof typeof OPENED;

export const DIALOGS = Object.keys(OPENED) as Opened[];

/** Views for joining, signing in and administering the organization, and the dialogs that are opened from them. */
export const ADMINISTRATION: readonly (View | Opened)[] = [
  ...VIEWS.filter(administers),
  ...DIALOGS.filter((name) => administers(OPENED[name][0])),
];

/** Creates content for every view. @param other The author of the message to act on. */
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
  await person.ok('POST', '/messages', { ...to, content: `${OWN} **soon**` });
  await other.ok('POST', '/messages', { type: 'direct', to: [person.id], content: 'Are you there?' });
  const { stream_id: website } = await person.ok('GET', '/get_stream_id', { stream: 'website' });
  const later = { scheduled_delivery_timestamp: Math.floor(Date.parse('2099-01-02T10:30:00Z') / 1000) };
  await person.ok('POST', '/scheduled_messages', { ...to, to: website, content: 'See you **next year**', ...later });
  await person.ok('POST', '/reminders', { message_id: id, ...later, note: 'Really look' });
  await person.ok('POST', '/invites/multiuse');
  await fillAdministration(person);
  await person.ok('POST', '/saved_snippets', { title: 'Thanks', content: 'Thank you for **looking**' });
  await person.ok('POST', '/drafts', {
    drafts: [{ type: 'stream', to: [website], topic: 'plans', content: 'Not yet' }],
  });
}

/** Creates content for the views of the administration. */
async function fillAdministration(person: Chatter['person']): Promise<void> {
  await person.ok('POST', '/bots', { full_name: BOT, short_name: 'tides' });
  await person.ok('POST', '/realm/emoji/lighthouse', { file: PNG });
  await person.ok('POST', '/realm/domains', { domain: 'harbour.example', allow_subdomains: true });
  await person.mutate('createApiKey', { name: 'Backup', scopes: ['READ', 'EVENTS'] }, 'apiKey { id }');
  await person.mutate(
    'createIdentityProvider',
    {
      ...{ slug: 'harbour', name: 'Sign in with Harbour', issuer: 'https://id.harbour.example' },
      ...{ clientId: 'chat', clientSecret: 'a secret', groupsClaim: 'groups' },
      groupRules: [{ value: 'leads', role: 'MODERATOR', userGroupIds: [] }],
    },
    'identityProvider { id }',
  );
}

/** Shows a view, or a dialog on its view. @returns The shown element. */
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

/** Navigates as a link of the page does, without a reload. */
async function go(page: Page, address: string): Promise<void> {
  await page.evaluate((to) => {
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, address);
  const main = page.getByRole('main');
  await main.getByRole('heading', { level: 1 }).waitFor();
  await main
    .locator(
      '.page li:not([aria-busy], .settings-nav li), .settings[data-pane=navigation] li, .page td, .page input:not([hidden]), ' +
        '.page select, .page [role=combobox], [aria-labelledby=own-keys], .message-list[aria-busy=false], .inbox, ' +
        '.topics li, .written-list, .search-terms, .message-note[role=alert]',
    )
    .filter({ visible: true })
    .first()
    .waitFor();
}
