import type { App } from '../../access/context.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { holdRolesAndShareChannels } from '../../channels/locks.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import type { AddressedEvent } from '../../events/append.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import { type Embed, embedPlaces, withEmbeds, withoutEmbeds } from '../../markdown/embeds.ts';
import type { Tx } from '../../platform/db/client.ts';
import { urlOf } from '../../platform/hosts.ts';
import type { OutgoingLimiter } from '../../platform/outgoing-limiter.ts';
import type { PlacedMessage } from '../access.ts';
import { recipientsOf } from '../audience.ts';
import { messageUpdated } from '../edits/events.ts';
import { OF_OTHER_MESSAGES } from '../edits/publish.ts';
import { readFlagsAndReactions } from '../edits/recipient-flags.ts';
import { imageAddress } from '../external-images/address.ts';
import { serializationFailure } from '../locks.ts';
import type { PageData } from './page.ts';
import { pagesAt } from './pages.ts';
import { deleteJob, type Job } from './queue.ts';

/** Maximum length of the HTML of a message with previews, in characters. */
const MAX_HTML_LENGTH = 1_000_000;
/** Maximum number of starts in one attempt. If the message is edited during each of them, the next attempt continues. */
const MAX_ROUNDS = 5;

/**
 * Adds the previews of linked pages to a message, and notifies its readers. If the message is edited before the previews are
 * stored, starts again with the pages to which the new content links.
 *
 * @throws Error if `signal` aborts. Nothing was changed.
 */
export async function addPreviews(app: App, limiter: OutgoingLimiter, job: Job, signal: AbortSignal): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = await read(app, job);
    if (found === null) return deleteJob(app.db, job);
    const { organization, html } = found;
    const rendered = withoutEmbeds(html);
    const own = `${urlOf(app.config, organization.subdomain)}/`;
    const places = embedPlaces(rendered).filter(({ url }) => !`${url}/`.startsWith(own));
    const urls = places.map(({ url }) => url);
    const pages = urls.length === 0 ? new Map() : await pagesAt(app, { limiter, signal }, organization.id, urls);
    const next = withEmbeds(rendered, places, embedsOf(app, organization, pages));
    if (await replace(app, job, { html, next: next.length > MAX_HTML_LENGTH ? rendered : next })) return;
  }
}

/** Reads a message that is to have previews. Null if it does not exist any more, or the organization shows none. */
async function read({ db }: App, { organizationId, messageId }: Job) {
  const organization = await db.organization.findUnique({ where: { id: organizationId } });
  if (organization === null || !organizationSetting(organization, 'inline_url_embed_preview')) return null;
  const message = await db.message.findFirst({
    where: { organizationId, id: messageId },
    select: { renderedContent: true },
  });
  return message === null ? null : { organization, html: message.renderedContent };
}

function embedsOf(app: App, organization: Organization, pages: ReadonlyMap<string, PageData>): Map<string, Embed> {
  return new Map(
    [...pages].flatMap(([url, { title, description, imageUrl }]) =>
      title === null
        ? []
        : [
            [
              url,
              {
                url,
                title,
                description: description ?? '',
                image: imageUrl === null ? null : imageAddress(app, organization, imageUrl),
              },
            ],
          ],
    ),
  );
}

/**
 * Replaces the HTML of a message and ends the job, in one transaction with the event.
 *
 * @returns False, without changing anything, if the message has other HTML than `html`.
 */
function replace(
  app: App,
  job: Job,
  { html, next }: { readonly html: string; readonly next: string },
): Promise<boolean> {
  const { organizationId, messageId } = job;
  return transact({ work: app.work, organizationId }, async (tx, emit) => {
    const message = await lockMessage(tx, job);
    if (message !== null && message.renderedContent !== html) return false;
    await deleteJob(tx, job);
    if (message === null || next === html) return true;
    await tx.$executeRaw`
      UPDATE message SET rendered_content = ${next} WHERE realm_id = ${organizationId} AND id = ${messageId}`;
    const organization = await tx.organization.findUniqueOrThrow({ where: { id: organizationId } });
    publish(emit, { organization, now: app.now() }, message, next);
    return true;
  });
}

/** Locks a message and its channel. Null if the message does not exist. */
async function lockMessage(tx: Tx, { organizationId, messageId }: Job): Promise<PlacedMessage | null> {
  const where = { organizationId, id: messageId };
  const seen = await tx.message.findFirst({ where, select: { channelId: true } });
  if (seen === null) return null;
  if (seen.channelId !== null) await holdRolesAndShareChannels(tx, organizationId, [seen.channelId]);
  await tx.$queryRaw`
    SELECT 1 AS held FROM message WHERE realm_id = ${organizationId} AND id = ${messageId} FOR NO KEY UPDATE`;
  const locked = await tx.message.findFirst({ where, include: { channel: true, conversation: true } });
  if (locked !== null && locked.channelId !== seen.channelId) throw serializationFailure();
  return locked;
}

/** Emits the event of a new rendering, to all users who can read the message. */
function publish(
  emit: Emit,
  { organization, now }: { readonly organization: Organization; readonly now: Date },
  message: PlacedMessage,
  html: string,
): void {
  const id = Number(message.id);
  const { channel, conversation, topic, content } = message;
  emit.reading(async (tx) => {
    const groups = await recipientsOf(tx, organization, { channel, conversation, ids: [id] }, undefined);
    const events: AddressedEvent[] = [];
    for (const { audience, ids } of groups) {
      const { flags } = await readFlagsAndReactions(tx, organization.id, id, audience);
      const event = messageUpdated({
        ...{ editorId: null, timestamp: Math.floor(now.getTime() / 1000), at: now.toISOString(), id, ids, topic },
        channel: channel === null ? null : { id: channel.id, name: channel.name },
        conversationId: conversation?.id ?? null,
        ...{ move: null, content: null, rendering: { source: content, html }, flags },
        emptyTopicName: emptyTopicName(organization),
      });
      events.push({ event, audience });
    }
    return events;
  }, OF_OTHER_MESSAGES);
}
