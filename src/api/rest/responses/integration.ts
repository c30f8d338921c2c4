/** Git integrations and their repositories in REST (docs/sources.md#git-providers). */
import { z } from 'zod'
import { uuid } from '../../../domain/parsing/fields.ts'
import type { Integration } from '../../../domain/values/row-types.ts'
import { responseSchema, time } from './response-schema.ts'

export const integration = responseSchema(
  { id: 'Integration' },
  {
    id: uuid.describe('Use it as `source_config.integration_id`.'),
    installation_id: z.string().nullable().describe("The git provider's id of the installation, if it has one."),
    name: z.string(),
  },
  (row: Integration) => ({ installationId: row.installationId === null ? null : String(row.installationId) }),
)

export const installation = responseSchema(
  { id: 'Installation' },
  {
    install_url: z
      .string()
      .describe('The page of the git provider where a person installs the app. It returns to this server.'),
    expires_at: time.describe('The installation must be finished before this time.'),
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
