/** Git integrations and their repositories as REST shows them (docs/sources.md#git-providers). */
import { z } from 'zod'
import { uuid } from '../../../domain/parsing/fields.ts'
import type { Integration } from '../../../domain/values/row-types.ts'
import { responseSchema, time } from './response-schema.ts'

export const integration = responseSchema(
  { id: 'Integration' },
  {
    id: uuid.describe('Use it as `source_config.integration_id`.'),
    installation_id: z.string().nullable().describe("The hosting provider's id of the installation, if it has one."),
    name: z.string(),
  },
  (row: Integration) => ({ installationId: row.installationId === null ? null : String(row.installationId) }),
)

export const installation = responseSchema(
  { id: 'Installation' },
  {
    install_url: z.string().describe('Where a person installs the app at the git provider; leads back here.'),
    expires_at: time.describe('Until when they have to be back.'),
  },
)

export const repository = responseSchema(
  { id: 'Repository' },
  {
    host_integration_id: uuid.describe('Use it as `source_config.integration_id`.'),
    id: z.int(),
    name: z.string(),
    owner: z.string(),
    url: z.string().describe('Use it as `source_config.repo_url`.'),
    default_branch: z.string().describe('Use it as `source_revision_config.repo_ref`.'),
  },
)
