import type { FeatureTests } from '../helpers/feature.ts';

export const auditLog: FeatureTests = {
  nodes: ({ auditLogEntryId }) => ({ AuditLogEntry: auditLogEntryId }),
};
