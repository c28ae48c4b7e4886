import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';

/** The second factor or the recovery codes of the user changed. Clients that show them read them again. */
export const secondFactorChanged = defineEvent('second_factor_changed', undefined, () => ({}));
documentEvent(secondFactorChanged, 'the user', {});
