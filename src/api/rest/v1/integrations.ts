/** The git provider's integrations over REST (docs/sources.md#git-providers). Each call has two paths, for older clients. */
import { z } from 'zod'
import { listInput, listIntegrations } from '../../../domain/sources/integrations/list.ts'
import { removeInput, removeIntegration } from '../../../domain/sources/integrations/remove.ts'
import { listRepositories, listRepositoriesInput } from '../../../domain/sources/integrations/repositories.ts'
import { startInput, startInstallation } from '../../../domain/sources/integrations/start-installation.ts'
import { noContent, type Operation, operation, singleResponse } from '../framework/operation.ts'
import { installation, integration, repository } from '../responses/integration.ts'

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
    ...singleResponse(200, 'All of them.', z.array(integration), listIntegrations),
    errors: [],
  }),
  operation({
    method: 'GET',
    path: `${base}/{integration_id}/repos`,
    operationId: `listRepositories${suffix}`,
    summary: 'List the repositories of a git integration',
    tag,
    input: listRepositoriesInput,
    ...singleResponse(200, 'All of them.', z.array(repository), listRepositories),
    errors: [404, 409, 502],
  }),
])

const start = operation({
  method: 'POST',
  path: '/v1/integrations/gitprovider/install',
  operationId: 'startInstallation',
  summary: 'Begin the installation of the app at the git provider',
  description:
    'Send the person who owns the account to `install_url`. When they come back, the integration is in the list.',
  tag,
  input: startInput,
  idempotency: 'no-effect',
  ...singleResponse(201, 'Begun.', installation, startInstallation),
  errors: [409, 502],
})

const remove = operation({
  method: 'DELETE',
  path: '/v1/integrations/gitprovider/{integration_id}',
  operationId: 'removeIntegration',
  summary: 'Remove a git integration',
  description:
    'Its deployments keep running and say so in `status_message`; they build no more. At the git provider the app stays installed.',
  tag,
  input: removeInput,
  ...noContent('Removed.', removeIntegration),
  errors: [404, 409],
})

export const integrations: Operation[] = [...lists, start, remove]
