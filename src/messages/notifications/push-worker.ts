import { toGlobalId } from '../../api/graphql/schema/global-ids.ts';
import { detached } from '../../events/act.ts';
import { transact } from '../../events/log.ts';
import { type Organization, Prisma, type PushDevice } from '../../generated/prisma/client.ts';
import { pushMessages } from '../../platform/metrics.ts';
import type { PushOutcome } from '../../platform/push/outcome.ts';
import { removeEndedClientDevices } from './client-devices.ts';
import { namedUsers } from './content.ts';
import type { NotificationApp } from './decide.ts';
import { isSignedIn, readDevices } from './devices.ts';
import { HostLimiter } from './host-limiter.ts';
import { type PushKeys, pushKeysOf } from './keys.ts';
import {
  ATTEMPT_MS,
  type Claimed,
  claimPushes,
  endLeases,
  type NotifiedUser,
  purgeNotifications,
  type Result,
  storeResults,
} from './outbox.ts';
import { type PhoneMessage, phoneMessageOf, removalOf, sendToPhone } from './phone-message.ts';
import { endToken } from './phone-tokens.ts';
import { type PushMessage, pushMessageOf, sendToBrowser } from './push-message.ts';
import { validNotifications } from './valid-notifications.ts';

/** Time between polls for notifications that other nodes have decided, or that are tried again, in milliseconds. */
const POLL_MS = 2_000;
const PURGE_MS = 3_600_000;
/** Number of users whose notifications are delivered in parallel. */
const MAX_PARALLEL = 16;
/** Maximum numbers of concurrent requests of this node to the same push service. */
const MAX_OF_HOST = { usual: 12, failing: 4 };
/** Time, in milliseconds, that attempts in progress may still take when the service stops. Afterwards, they are aborted. */
const GRACE_MS = 2_000;

/**
 * Sends push notifications to devices. Any number of nodes can run a worker on one database.
 *
 * Each notification is sent at least once to each device: again if the connection breaks before the response arrives, or if the
 * process is killed before the result is stored. Immediately before, it is checked that the user can read the message and has not
 * read it.
 */
export class PushWorker {
  readonly #app: NotificationApp;
  readonly #stop = new AbortController();
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #hosts = new HostLimiter(MAX_OF_HOST);
  /** Loops that claim and deliver notifications until none is due. */
  readonly #loops = new Set<Promise<void>>();
  /** Users whose notifications are being delivered. Each has one delivery at a time. */
  readonly #users = new Set<NotifiedUser>();
  /** Changes for which no delivery waits, so that none is repeated because they fail: the purge, and changes of devices. */
  readonly #changes = new Set<Promise<void>>();
  /** Push services of phones whose last message failed for a reason that concerns all messages. */
  readonly #failingServices = new Set<string>();
  /** Number of calls of `deliverDue`. */
  #calls = 0;
  #preparing: Promise<void> | undefined;
  #isFailing = false;
  #purgedAt = Number.NEGATIVE_INFINITY;
  #hasStarted = false;

  constructor(app: NotificationApp) {
    this.#app = app;
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.deliverDue(), POLL_MS).unref();
  }

  /** Stops the worker. No further attempt starts, and attempts in progress are aborted after `GRACE_MS`. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    const graceTimer = setTimeout(() => this.#stop.abort(), GRACE_MS);
    await this.#ended();
    clearTimeout(graceTimer);
  }

  /**
   * Delivers all due notifications that no other node has claimed.
   *
   * @returns A promise that resolves when no delivery or change of the worker is in progress.
   */
  deliverDue(): Promise<void> {
    this.#calls++;
    this.#startLoop();
    return this.#ended();
  }

  async #ended(): Promise<void> {
    while (this.#loops.size + this.#changes.size > 0) await Promise.all([...this.#loops, ...this.#changes]);
  }

  /** Starts a loop, unless there are enough. Each loop starts the next one once it has something to deliver. */
  #startLoop(): void {
    if (this.#isStopped || this.#loops.size >= MAX_PARALLEL) return;
    const loop: Promise<void> = detached(() => this.#deliverWhileDue()).finally(() => this.#loops.delete(loop));
    this.#loops.add(loop);
  }

  async #deliverWhileDue(): Promise<void> {
    try {
      this.#preparing ??= this.#prepare().finally(() => {
        this.#preparing = undefined;
      });
      await this.#preparing;
      for (let isDue = true; isDue && !this.#isStopped; ) {
        // Notifications that a call announces during the query need another query.
        const calls = this.#calls;
        isDue = (await this.#deliverSome()) || calls !== this.#calls;
      }
      this.#isFailing = false;
    } catch (err) {
      if (!this.#isFailing) this.#app.log.warn({ err }, 'push notifications could not be delivered, retrying');
      this.#isFailing = true;
    }
  }

  async #prepare(): Promise<void> {
    const now = this.#app.now();
    if (!this.#hasStarted && this.#app.database.kind === 'embedded') await endLeases(this.#app);
    this.#hasStarted = true;
    if (now.getTime() - this.#purgedAt < PURGE_MS) return;
    this.#hosts.forgetIdle();
    this.#purgedAt = now.getTime();
    this.#change(() => this.#purge(now), 'push notifications and devices could not be purged');
  }

  /** Starts a change for which no delivery waits. If it fails, it is logged. */
  #change(run: () => Promise<void>, failure: string, fields: object = {}): void {
    const change: Promise<void> = detached(run)
      .catch((err: unknown) => this.#app.log.warn({ ...fields, err }, failure))
      .finally(() => this.#changes.delete(change));
    this.#changes.add(change);
  }

  async #purge(now: Date): Promise<void> {
    const overdue = await purgeNotifications(this.#app.db, now, isSignedIn(now, Prisma.sql`d.realm_id`));
    for (const { organizationId, transport, count } of overdue) {
      this.#app.log.warn(
        { organization: organizationId, transport, count },
        'notifications given up, overdue for a day',
      );
    }
    await removeEndedClientDevices(this.#app);
  }

  /** Delivers due notifications of one user. @returns Whether there were any. */
  async #deliverSome(): Promise<boolean> {
    const claimed = await claimPushes(this.#app, [...this.#users]);
    const [user] = claimed;
    if (user === undefined) return false;
    this.#users.add(user);
    this.#startLoop();
    try {
      await this.#deliver(user, claimed);
    } finally {
      this.#users.delete(user);
    }
    return true;
  }

  async #deliver({ organizationId, userId }: NotifiedUser, claimed: readonly Claimed[]): Promise<void> {
    const { db } = this.#app;
    const organization = await db.organization.findUnique({ where: { id: organizationId } });
    // The organization has moved to another database, which delivers the notifications.
    if (organization === null) return;
    const devices = await readDevices(this.#app, db, { organizationId, userId });
    const messages = await this.#messagesOf(organization, claimed);
    const hasBrowser = devices.some(({ kind }) => kind === 'web');
    const keys = hasBrowser ? await pushKeysOf(db, this.#app, organizationId) : undefined;
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(ATTEMPT_MS)]);
    const sent = await Promise.all(
      devices.map((device) => this.#sendTo(device, { organization, keys, claimed, messages, signal })),
    );
    const count = await storeResults(
      this.#app,
      claimed.map((one) => resultOf(one, messages.has(one.id) || one.isRemoval, sent)),
    );
    if (count > 0) {
      const fields = { organization: organizationId, user: userId, count };
      this.#app.log.warn(fields, 'push notifications given up after too many attempts or a day');
    }
  }

  /** Returns the contents of the notifications that are not obsolete, by the ids of the notifications. */
  async #messagesOf(organization: Organization, claimed: readonly Claimed[]): Promise<Map<bigint, Content>> {
    const { db } = this.#app;
    const shown = claimed.filter(({ isRemoval }) => !isRemoval);
    const valid = await validNotifications(
      db,
      this.#app,
      organization,
      shown.map((one) => ({ ...one, transport: 'push' })),
    );
    const named = namedUsers(valid.flatMap((one) => (one === undefined ? [] : [one.message])));
    const people =
      named.length === 0
        ? []
        : await db.user.findMany({ where: { organizationId: organization.id, id: { in: named } } });
    const names = new Map(people.map((user) => [user.id, user]));
    return new Map(
      shown.flatMap((one, i) => {
        const found = valid[i];
        if (found === undefined) return [];
        const { message, reason } = found;
        const browser = pushMessageOf(this.#app, organization, { ...one, reason }, message, names);
        const phone = phoneMessageOf(this.#app, organization, one, { message, names, shown: browser });
        return [[one.id, { browser, phone }] as const];
      }),
    );
  }

  /** Sends the notifications that a device does not have yet, until an attempt fails. */
  async #sendTo(device: PushDevice, { organization, keys, claimed, messages, signal }: Delivery): Promise<Sent> {
    const missing = claimed.filter(({ deviceIds }) => !deviceIds.includes(device.id));
    const removed = missing.filter(({ isRemoval }) => isRemoval);
    const removedIds = removed.map(({ messageId }) => messageId);
    const removal: Content = {
      browser: { type: 'removal', messageIds: removedIds.map((id) => toGlobalId('Message', id)) },
      phone: removalOf(this.#app, organization, device.userId, removedIds),
    };
    const posts = [
      ...(removed.length === 0 ? [] : [{ ids: removed.map(({ id }) => id), content: removal }]),
      ...missing.flatMap(({ id }) => {
        const content = messages.get(id);
        return content === undefined ? [] : [{ ids: [id], content }];
      }),
    ];
    const host = hostOf(device);
    const [finishedIds, attemptedIds] = [new Set<bigint>(), new Set<bigint>()];
    let isAccepted = false;
    for (const { ids, content } of posts) {
      const permit = signal.aborted ? undefined : await this.#hosts.enter(host);
      if (permit === undefined) break;
      for (const id of ids) attemptedIds.add(id);
      const outcome = await this.#send(device, content, { organization, keys, signal });
      permit.end(outcome.kind === 'failed' && outcome.isOfService);
      pushMessages.inc({ outcome: outcome.kind });
      if (outcome.kind === 'gone') {
        this.#change(() => this.#forget(device), 'push device could not be deleted', { device: device.id });
        return { device, finishedIds, attemptedIds, isGone: true, afterSeconds: 0 };
      }
      if (outcome.kind === 'failed') {
        this.#logFailure(device, outcome);
        if (isAccepted) this.#noteSent(device);
        return { device, finishedIds, attemptedIds, isGone: false, afterSeconds: outcome.afterSeconds };
      }
      if (outcome.kind === 'refused') {
        this.#app.log.warn({ device: device.id, reason: outcome.reason }, 'push message was refused');
      }
      if (outcome.kind === 'sent') {
        isAccepted = true;
        this.#failingServices.delete(device.kind);
      }
      for (const id of ids) finishedIds.add(id);
    }
    if (isAccepted) this.#noteSent(device);
    return { device, finishedIds, attemptedIds, isGone: false, afterSeconds: 0 };
  }

  /** Logs a failed attempt. The first failure of a push service of phones, until it accepts a message, is a warning. */
  #logFailure({ id, kind }: PushDevice, { reason, isOfService }: Extract<PushOutcome, { kind: 'failed' }>): void {
    this.#app.log.debug({ device: id, reason }, 'push message failed, retrying');
    if (kind === 'web' || !isOfService || this.#stop.signal.aborted || this.#failingServices.has(kind)) return;
    this.#failingServices.add(kind);
    this.#app.log.warn({ service: kind, reason }, 'push service failed, retrying');
  }

  #send(
    device: PushDevice,
    { browser, phone }: Content,
    { organization, keys, signal }: Pick<Delivery, 'organization' | 'keys' | 'signal'>,
  ): Promise<PushOutcome> {
    return device.kind === 'web'
      ? sendToBrowser(this.#app, organization, keys as PushKeys, device, browser, signal)
      : sendToPhone(this.#app, device, phone, signal);
  }

  /** Deletes a device, or the token of a client device, that its push service does not know any more. */
  async #forget(device: PushDevice): Promise<void> {
    const { organizationId, id } = device;
    await transact({ work: this.#app.work, organizationId }, (tx, emit) => endToken(tx, emit, device));
    this.#app.log.info({ device: id, host: hostOf(device) }, 'push device no longer exists, deleted');
  }

  #noteSent({ organizationId, id }: PushDevice): void {
    const data = { lastSentAt: this.#app.now() };
    this.#change(
      async () => void (await this.#app.db.pushDevice.updateMany({ where: { organizationId, id }, data })),
      'the time of a push message could not be stored',
      { device: id },
    );
  }
}

/** Returns the name under which concurrent requests to the push service of a device are limited. */
const hostOf = ({ kind, endpoint }: PushDevice): string => (kind === 'web' ? new URL(endpoint).host : kind);

/** Content of a notification, for browsers and for apps. */
interface Content {
  readonly browser: PushMessage;
  readonly phone: PhoneMessage;
}

/** Everything that is to be sent to the devices of a user. */
interface Delivery {
  readonly organization: Organization;
  /** Keys with which messages to browsers are signed. Undefined if the user has no browser. */
  readonly keys: PushKeys | undefined;
  readonly claimed: readonly Claimed[];
  readonly messages: ReadonlyMap<bigint, Content>;
  readonly signal: AbortSignal;
}

/** The results of the attempts to send notifications to a device. */
interface Sent {
  readonly device: PushDevice;
  /** Notifications that the push service accepted, or that it will never accept. */
  readonly finishedIds: ReadonlySet<bigint>;
  /** Notifications that were sent to the device, received or not. */
  readonly attemptedIds: ReadonlySet<bigint>;
  readonly isGone: boolean;
  readonly afterSeconds: number;
}

/** @param isDue Whether the notification was to be sent. Otherwise it is obsolete. */
function resultOf(claimed: Claimed, isDue: boolean, sent: readonly Sent[]): Result {
  const present = sent.filter(({ isGone }) => !isGone);
  const has = ({ device, finishedIds }: Sent) => claimed.deviceIds.includes(device.id) || finishedIds.has(claimed.id);
  const deviceIds = present.filter(has).map(({ device }) => device.id);
  if (!isDue) return { claimed, deviceIds: [...claimed.deviceIds], state: 'obsolete' };
  const missing = present.filter((one) => !has(one));
  if (missing.length === 0) return { claimed, deviceIds, state: 'done' };
  return {
    claimed,
    deviceIds,
    state: sent.some(({ attemptedIds }) => attemptedIds.has(claimed.id)) ? 'failed' : 'postponed',
    afterSeconds: Math.max(...missing.map(({ afterSeconds }) => afterSeconds)),
  };
}
