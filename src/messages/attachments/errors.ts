import { defineError } from '../../platform/errors.ts';

/** Thrown if an upload would exceed the organization's disk space for files. */
export class UploadQuotaError extends defineError('REALM_UPLOAD_QUOTA', () => ({
  message: "Upload would exceed your organization's upload quota.",
  parameter: 'file',
})) {}
