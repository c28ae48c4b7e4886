import { apiEmail } from '../access/address.ts';
import { type OrganizationGroupSettingName, organizationGroupSetting } from '../access/organization-settings.ts';
import { isInGroup } from '../access/permissions/membership.ts';
import { SETTING_CHOICES, USER_SETTING_NAMES, userSetting } from '../access/user-settings.ts';
import type { Snapshot, StateGroup } from '../api/state-group.ts';
import { Prisma, type User } from '../generated/prisma/client.ts';
import { fieldsOf } from '../platform/db/columns.ts';
import { readRows } from '../platform/db/rows.ts';
import { JsonBytes } from '../platform/json-bytes.ts';
import { isAdministrator, isGuest, isModerator, isOwner } from '../platform/roles.ts';
import { yieldToEventLoop } from '../platform/time-slices.ts';
import { profileDataOf } from './profile-fields/values.ts';
import { avatarUrl, type Requester, toWireUser, type UserRenderOptions, visibilitiesFor } from './wire.ts';

/** Types of events after which the cached lists of users must be read again. Viewers with the same rights share these lists. */
const CHANGED_BY = ['realm_user', 'custom_profile_fields'];
/**
 * Viewer id with which lists of users are rendered for all viewers with the same rights. The id must not belong to a user: a
 * list that is rendered for a user contains the user's own email address.
 */
const OTHER_VIEWER_ID = 0;
const BYTES_OF_PLACE = 100;

/** State group (a part of the response of `POST /register`) with all users of the organization, and data about the viewer. */
export const usersState: StateGroup = {
  name: 'realm_user',
  async read(snapshot) {
    const { app, viewer, options } = snapshot;
    const rights = visibilitiesFor(viewer.role).join(' ');
    const people = await app.sharedState.of(snapshot, {
      organizationId: viewer.organization.id,
      name: `users, for viewers of addresses with visibility ${rights}${options.clientGravatar ? ', client_gravatar' : ''}`,
      eventTypes: CHANGED_BY,
      read: () => readPeople(snapshot),
      bytesOf: ({ active, inactive }) => active.bytes + inactive.bytes,
    });
    const own = await readOwn(snapshot);
    return {
      realm_users: people.active.with(viewer.id, own),
      realm_non_active_users: people.inactive.with(viewer.id, own),
      cross_realm_bots: people.systemBots,
      ...caller(snapshot),
    };
  },
};

interface People {
  readonly active: PeopleList;
  readonly inactive: PeopleList;
  readonly systemBots: JsonBytes;
}

/**
 * Maximum number of users in a batch. Further users are in the next batch. Reading a batch takes a few milliseconds, and so
 * does serializing it.
 */
const USERS_AT_ONCE = 250;

/**
 * Reads all users, in the form in which a viewer with the same rights as `viewer` sees other users. Works in batches, and
 * yields to the event loop between them.
 */
async function readPeople({ viewer, db, options: { clientGravatar } }: Snapshot): Promise<People> {
  const requester = { id: OTHER_VIEWER_ID, role: viewer.role };
  const [active, inactive] = [new PeopleList(), new PeopleList()];
  const systemBots: unknown[] = [];
  for (let after = 0, isEnd = false; !isEnd; ) {
    await yieldToEventLoop();
    const some = await readRows<User>(
      db,
      Prisma.sql`
      SELECT ${fieldsOf('u', 'User')} FROM user_account u
      WHERE u.realm_id = ${viewer.organization.id} AND u.id > ${after} ORDER BY u.id LIMIT ${USERS_AT_ONCE}::int`,
    );
    const people = some.filter(({ isSystem, botType }) => !isSystem && botType === null).map(({ id }) => id);
    const profiles = await profileDataOf(db, viewer.organization.id, people);
    await yieldToEventLoop();
    for (const bot of some.filter(({ isSystem }) => isSystem)) {
      systemBots.push({ ...toWireUser(bot, requester, { clientGravatar }), is_system_bot: true });
    }
    const listOf = (isActive: boolean) =>
      some
        .filter((user) => !user.isSystem && user.isActive === isActive)
        .map(
          (user) => [user.id, listed(user, requester, { clientGravatar, profileData: profiles.get(user.id) })] as const,
        );
    active.add(listOf(true));
    inactive.add(listOf(false));
    after = some.at(-1)?.id ?? after;
    isEnd = some.length < USERS_AT_ONCE;
  }
  return { active, inactive, systemBots: new JsonBytes(Buffer.from(JSON.stringify(systemBots))) };
}

/**
 * Returns the viewer's own entry in the lists of users, as JSON. It contains the viewer's email address even if other users
 * cannot see it.
 */
async function readOwn({ viewer, db, options: { clientGravatar } }: Snapshot): Promise<Buffer> {
  const { user, id, organization } = viewer;
  const profiles = user.botType === null ? await profileDataOf(db, organization.id, [id]) : undefined;
  return Buffer.from(listed(user, viewer, { clientGravatar, profileData: profiles?.get(id) }));
}

/** Returns the JSON of a user's entry in the list of users that `requester` receives. */
function listed(user: User, requester: Requester, { clientGravatar, profileData = {} }: UserRenderOptions): string {
  const wire = toWireUser(user, requester, { clientGravatar, profileData });
  // `is_active` is undefined, so that JSON omits it. The name of each list of users implies the value.
  return JSON.stringify({ ...wire, is_active: undefined });
}

/** Location of a user's entry in a `PeopleList`: the index of the buffer, and the range of bytes in that buffer. */
type PlaceInList = readonly [piece: number, start: number, end: number];

/** A list of users as JSON. The entry of each user can be found and replaced. */
class PeopleList {
  /** The JSON text of the list in several buffers, without the surrounding brackets. */
  readonly #pieces: Buffer[] = [];
  readonly #places = new Map<number, PlaceInList>();
  #length = 0;

  /** Appends users to the list. */
  add(users: readonly (readonly [id: number, json: string])[]): void {
    if (users.length === 0) return;
    const comma = this.#pieces.length === 0 ? '' : ',';
    let start = comma.length;
    for (const [id, json] of users) {
      const end = start + Buffer.byteLength(json);
      this.#places.set(id, [this.#pieces.length, start, end]);
      start = end + 1;
    }
    const piece = Buffer.from(comma + users.map(([, json]) => json).join(','));
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  /** Approximate memory use of the list, in bytes. */
  get bytes(): number {
    return this.#length + BYTES_OF_PLACE * this.#places.size;
  }

  /**
   * Returns the JSON of the list, with `own` in place of the entry of the user `id`. If the list does not contain this user,
   * returns the JSON without changes.
   */
  with(id: number, own: Buffer): JsonBytes {
    const place = this.#places.get(id);
    if (place === undefined) return new JsonBytes(OPENING, ...this.#pieces, CLOSING);
    const [at, start, end] = place;
    const piece = this.#pieces[at] ?? own;
    const [before, after] = [this.#pieces.slice(0, at), this.#pieces.slice(at + 1)];
    return new JsonBytes(OPENING, ...before, piece.subarray(0, start), own, piece.subarray(end), ...after, CLOSING);
  }
}

const [OPENING, CLOSING] = [Buffer.from('['), Buffer.from(']')];

function caller({ app, viewer, groups }: Snapshot) {
  const { user, role, organization } = viewer;
  const may = (name: OrganizationGroupSettingName) =>
    isInGroup(groups, viewer, organizationGroupSetting(groups, organization, name), app.now());
  const canCreatePublic = may('can_create_public_channel_group');
  const canCreatePrivate = may('can_create_private_channel_group');
  return {
    user_id: user.id,
    email: apiEmail(user),
    delivery_email: user.email,
    full_name: user.fullName,
    avatar_source: user.avatarSource,
    avatar_url: avatarUrl(user),
    avatar_url_medium: avatarUrl(user, 'medium'),
    is_owner: isOwner(role),
    is_admin: isAdministrator(role),
    is_moderator: isModerator(role),
    is_guest: isGuest(role),
    can_create_public_streams: canCreatePublic,
    can_create_private_streams: canCreatePrivate,
    // Always false, like `server_web_public_streams_enabled`, whatever the organization's settings are.
    can_create_web_public_streams: false,
    can_create_streams: canCreatePublic || canCreatePrivate,
    can_invite_others_to_realm: may('can_invite_users_group'),
  };
}

/** State group (a part of the response of `POST /register`) with the viewer's own settings. */
export const userSettingsState: StateGroup = {
  name: 'user_settings',
  async read({ viewer: { user } }) {
    const values = USER_SETTING_NAMES.map((name) => [name, userSetting(user, name)]);
    return { user_settings: { ...Object.fromEntries(values), ...SETTING_CHOICES } };
  },
};
