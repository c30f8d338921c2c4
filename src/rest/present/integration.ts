/** Git integrations and their repositories as REST shows them (spec 2.10, contract 9). */
import type { z } from 'zod'
import type { Repository } from '../../domain/integrations/repositories.ts'
import type { Integration } from '../../generated/prisma/client.ts'
import type { integration, repository } from '../schemas.ts'

/** A `directory` integration is nobody's installation: it has no installation's id. */
export function presentIntegration({ id, installationId, name }: Integration): z.output<typeof integration> {
  return { id, installation_id: installationId === null ? null : String(installationId), name }
}

export function presentRepository(found: Repository): z.output<typeof repository> {
  return {
    host_integration_id: found.hostIntegrationId,
    id: found.id,
    name: found.name,
    owner: found.owner,
    url: found.url,
    default_branch: found.defaultBranch,
  }
}
