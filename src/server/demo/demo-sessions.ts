import type { IncomingMessage, ServerResponse } from 'node:http';
import { readAccount } from '../../access/accounts.ts';
import type { App } from '../../access/context.ts';
import { clientName } from '../../access/sign-in.ts';
import { beginSession } from '../../administration/sessions/service.ts';
import { PasswordAuthDisabledError } from '../../administration/sign-in/errors.ts';
import { secondStepOf } from '../../administration/sign-in/second-step.ts';
import { CsrfFailedError, requireOwnPage } from '../../api/cross-site.ts';
import { readForm } from '../../api/rest/form.ts';
import type { Web } from '../../api/rest/router.ts';
import { headersOf } from '../../api/sessions.ts';
import type { User } from '../../generated/prisma/client.ts';
import { Caller } from '../../platform/caller.ts';
import { NotFoundError } from '../../platform/errors.ts';
import { shownUser } from '../operator/commands.ts';
import type { DemoAccess } from './demo-access.ts';

/**
 * Path of the JSON list of the demo users from which the sign-in page lets the visitor choose. The list is empty unless the
 * browser has opened the start URL that the server prints.
 */
export const DEMO_PEOPLE_PATH = '/start/people';
/** Path at which a browser signs in as the demo user with the form field `user_id`. */
export const DEMO_SESSION_PATH = '/start/session';

/** A user of the demo organization, as the sign-in page lists it. */
interface DemoPerson {
  readonly user_id: number;
  readonly full_name: string;
  readonly email: string;
  /** "owner", "administrator", "moderator", "member" or "guest". */
  readonly role: string;
}

const HEADERS = { 'Cache-Control': 'private, no-store' };

/**
 * Adds the routes that sign a browser in as one of the demo users, without a password. Only browsers that opened the start URL
 * can use these routes. A session that they begin is an ordinary session.
 */
export function addDemoSessions(web: Web, app: App, demo: DemoAccess): void {
  web.get(DEMO_PEOPLE_PATH, async ({ env }) => {
    const people = demo.isOpenTo(env.incoming) ? await peopleOf(app, demo) : [];
    return Response.json({ people: people.map(shownPerson) }, { headers: HEADERS });
  });
  web.post(DEMO_SESSION_PATH, ({ env }) => begin(app, demo, env.incoming, env.outgoing as ServerResponse));
}

function peopleOf({ db }: App, { owner }: DemoAccess): Promise<User[]> {
  return db.user.findMany({
    where: { id: { in: [...owner.userIds] }, botType: null, isActive: true },
    orderBy: { id: 'asc' },
  });
}

function shownPerson(user: User): DemoPerson {
  const { role, email, user_id } = shownUser(user, '');
  return { user_id, full_name: user.fullName, email, role };
}

/**
 * Begins a session as the demo user whose id the form contains, and sets the session cookie.
 *
 * @throws CsrfFailedError if the browser did not open the start URL, or a page of another site sent the request.
 * @throws NotFoundError if no active person of the demo has the requested id.
 * @throws PasswordAuthDisabledError if the person has or must have a second factor.
 */
async function begin(
  app: App,
  demo: DemoAccess,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<Response> {
  const header = headersOf(incoming.headers);
  requireOwnPage(app.config, header);
  if (!demo.isOpenTo(incoming)) throw new CsrfFailedError();
  const { fields } = await readForm(incoming, false);
  const asked = Number(fields.get('user_id'));
  const people = await peopleOf(app, demo);
  const person = people.find(({ id }) => id === asked);
  if (person === undefined)
    throw new NotFoundError('No demo user has this user_id', { type: 'User', id: asked, parameter: 'user_id' });
  const caller = new Caller(incoming, app.config.trustedProxies);
  const setCookie = (cookie: string) => void outgoing.appendHeader('set-cookie', cookie);
  const account = await readAccount(app.db, person.organizationId, person.id);
  if ((await secondStepOf(app, account)) !== undefined) throw new PasswordAuthDisabledError();
  const name = clientName(incoming.headers['user-agent']);
  await beginSession(
    { app, work: app.work, caller, clientName: name },
    account,
    { header, setCookie },
    { method: 'demo' },
  );
  return new Response(null, { status: 204, headers: HEADERS });
}
