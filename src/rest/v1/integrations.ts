/** The git provider's integrations over REST (spec 2.10, contract 9). Each call has two paths, for older clients. */
import { z } from 'zod'
import { listInput, listIntegrations } from '../../domain/integrations/list.ts'
import { removeInput, removeIntegration } from '../../domain/integrations/remove.ts'
import { listRepositories, listRepositoriesInput } from '../../domain/integrations/repositories.ts'
import { startInput, startInstall } from '../../domain/integrations/start-install.ts'
import { type Operation, operation } from '../operation.ts'
import { presentIntegration, presentRepository } from '../present/integration.ts'
import { installation, integration, repository } from '../schemas.ts'

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
    answers: { 200: { means: 'All of them.', schema: z.array(integration) } },
    errors: [],
    handle: async (ctx, raw) => ({ status: 200, body: (await listIntegrations(ctx, raw)).map(presentIntegration) }),
  }),
  operation({
    method: 'GET',
    path: `${base}/{integration_id}/repos`,
    operationId: `listRepositories${suffix}`,
    summary: 'List the repositories of a git integration',
    tag,
    input: listRepositoriesInput,
    answers: { 200: { means: 'All of them.', schema: z.array(repository) } },
    errors: [404, 409, 502],
    handle: async (ctx, raw) => ({ status: 200, body: (await listRepositories(ctx, raw)).map(presentRepository) }),
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
  answers: { 201: { means: 'Begun.', schema: installation } },
  errors: [409, 502],
  handle: async (ctx, raw) => {
    const { installUrl, expiresAt } = await startInstall(ctx, raw)
    return { status: 201, body: { install_url: installUrl, expires_at: expiresAt.toISOString() } }
  },
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
  answers: { 204: { means: 'Removed.', schema: null } },
  errors: [404, 409],
  handle: async (ctx, raw) => {
    await removeIntegration(ctx, raw)
    return { status: 204, body: null }
  },
})

export const integrations: Operation[] = [...lists, start, remove]
