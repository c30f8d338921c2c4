/** The git provider's integrations over REST (docs/sources.md#git-providers). Each call has two paths, for older clients. */
import { z } from 'zod'
import { uuid } from '../../../domain/parsing/fields.ts'
import { startInput, startInstallation } from '../../../domain/sources/integrations/installation.ts'
import {
  listInput,
  listIntegrations,
  removeInput,
  removeIntegration,
} from '../../../domain/sources/integrations/integrations.ts'
import { listRepositories, listRepositoriesInput } from '../../../domain/sources/integrations/repositories.ts'
import type { Integration } from '../../../domain/values/row-types.ts'
import { noContent, type Operation, operation, singleResponse } from '../framework/operation.ts'
import { responseSchema, time } from '../responses/response-schema.ts'

const integration = responseSchema(
  { id: 'Integration' },
  {
    id: uuid.describe('Use it as `source_config.integration_id`.'),
    installation_id: z.string().nullable().describe("The git provider's id of the installation, if it has one."),
    name: z.string(),
  },
  (row: Integration) => ({ installationId: row.installationId === null ? null : String(row.installationId) }),
)

const installation = responseSchema(
  { id: 'Installation' },
  {
    install_url: z
      .string()
      .describe('The page of the git provider where a person installs the app. It returns to this server.'),
    expires_at: time.describe('The installation must be finished before this time.'),
  },
)

const repository = responseSchema(
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

const tag = 'Git integrations'

const both = [
  { base: '/v1/integrations/gitprovider', suffix: '' },
  { base: '/v1/integrations/forge/gitprovider', suffix: 'OfForge' },
] as const

const lists = both.flatMap(({ base, suffix }) => [
  operation({
    method: 'GET',
    path: `${base}/install`,
    operationId: `listIntegrations${suffix}`,
    summary: 'List the git integrations of the workspace',
    tag,
    input: listInput,
    ...singleResponse(200, 'All integrations of the workspace.', z.array(integration), listIntegrations),
    errors: [],
  }),
  operation({
    method: 'GET',
    path: `${base}/{integration_id}/repos`,
    operationId: `listRepositories${suffix}`,
    summary: 'List the repositories of a git integration',
    tag,
    input: listRepositoriesInput,
    ...singleResponse(200, 'All repositories of the integration.', z.array(repository), listRepositories),
    errors: [404, 409, 502],
  }),
])

const start = operation({
  method: 'POST',
  path: '/v1/integrations/gitprovider/install',
  operationId: 'startInstallation',
  summary: 'Start the installation of the app at the git provider',
  description:
    'Send the owner of the account to `install_url`. The integration is listed when the owner has returned to this server.',
  tag,
  input: startInput,
  idempotency: 'no-effect',
  ...singleResponse(201, 'The installation was started.', installation, startInstallation),
  errors: [409, 502],
})

const remove = operation({
  method: 'DELETE',
  path: '/v1/integrations/gitprovider/{integration_id}',
  operationId: 'removeIntegration',
  summary: 'Remove a git integration',
  description:
    'Its deployments continue to run, but can’t be built any more; `status_message` says so. The app stays installed at the git provider.',
  tag,
  input: removeInput,
  ...noContent('The integration was removed.', removeIntegration),
  errors: [404, 409],
})

export const integrations: Operation[] = [...lists, start, remove]
