/** Shapes that the verbs of connections share. */
import { z } from 'zod'
import { agentId } from '../tokens/schemas.ts'

export const agentPath = z.object({ agent_id: agentId })
