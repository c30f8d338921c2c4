/** The git provider's integrations over REST (spec 2.10, contract 9). Each call has two paths, for older clients. */
import { z } from 'zod'
import { listIntegrations } from '../../domain/integrations/list.ts'
import { listRepositories, listRepositoriesInput } from '../../domain/integrations/repositories.ts'
import { type Operation, operation } from '../operation.ts'
import { presentIntegration, presentRepository } from '../present/integration.ts'
import { integration, repository } from '../schemas.ts'

const tag = 'Git integrations'

const both = [
  { base: '/v1/integrations/gitprovider', suffix: '' },
  { base: '/v1/integrations/forge/gitprovider', suffix: 'OfForge' },
] as const

export const integrations: Operation[] = both.flatMap(({ base, suffix }) => [
  operation({
    method: 'GET',
    path: `${base}/install`,
    operationId: `listIntegrations${suffix}`,
    summary: 'List the git integrations of the workspace',
    tag,
    input: z.object({}),
    answers: { 200: { means: 'All of them.', schema: z.array(integration) } },
    errors: [],
    handle: async (ctx) => ({ status: 200, body: (await listIntegrations(ctx)).map(presentIntegration) }),
  }),
  operation({
    method: 'GET',
    path: `${base}/{integration_id}/repos`,
    operationId: `listRepositories${suffix}`,
    summary: 'List the repositories of a git integration',
    tag,
    input: listRepositoriesInput,
    answers: { 200: { means: 'All of them.', schema: z.array(repository) } },
    errors: [404],
    handle: async (ctx, raw) => ({ status: 200, body: (await listRepositories(ctx, raw)).map(presentRepository) }),
  }),
])
