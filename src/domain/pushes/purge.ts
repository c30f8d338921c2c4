/** Deliveries are remembered for as long as the provider may send them again, and then some. */
import type { Core } from '../context.ts'

export async function purgeDeliveries(core: Core): Promise<void> {
  await core.db.$executeRaw`
    DELETE FROM webhook_deliveries WHERE received_at < now() - interval '7 days' AND finished_at < now() - interval '7 days'`
}
