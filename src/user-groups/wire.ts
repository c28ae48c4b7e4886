import { z } from 'zod';

/** Who holds a permission, as clients write it: a group's id, or users and groups. @see endpoints companion C.3 */
export const groupSetting = z.union([
  z.int(),
  z.strictObject({ direct_members: z.array(z.int()), direct_subgroups: z.array(z.int()) }),
]);

/** A permission's new value, and the one the client believes it has. @see endpoints companion C.3 */
export const groupSettingEdit = z.strictObject({ new: groupSetting, old: groupSetting.optional() });
