import type { Ctx } from '../../access/context.ts';
import { requireAdministrator } from '../../access/roles.ts';
import { transact } from '../../events/log.ts';
import { notify } from '../../messages/sending/notices.ts';
import { requireText } from '../../platform/text.ts';

/** Maximum length of a welcome text, in code points. */
export const MAX_WELCOME_LENGTH = 8000;

/**
 * Sends the viewer a direct message with a text, in the form that new users get when they join by an invitation.
 *
 * @param text Flavored Markdown, 1 to 8,000 code points.
 * @returns Id of the message.
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws ValidationError if the text is blank or too long.
 */
export async function sendWelcomeTest(ctx: Ctx, text: string): Promise<number> {
  requireAdministrator(ctx);
  const { app, viewer } = ctx;
  const limits = { strip: true, min: 1, max: MAX_WELCOME_LENGTH };
  const content = requireText('welcome_message_custom_text', text, limits);
  let messageId = 0;
  await transact(ctx, async (tx, emit) => {
    const place = { app, organization: viewer.organization };
    await notify(tx, emit, place, { userIds: [viewer.id] }, content, (id) => {
      messageId = id;
    });
  });
  return messageId;
}
