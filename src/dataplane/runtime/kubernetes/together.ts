/** Several writes at the same time. */
import { ApiRefused, LeaseOverError, StaleError } from './cluster/errors.ts'

/** Waits for all, also when one fails; then throws what matters most: that we must not write, else the first refusal. */
export async function together(calls: Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(calls)
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  const worst = [StaleError, LeaseOverError, ApiRefused].map((kind) => errors.find((error) => error instanceof kind))
  const error = worst.find(Boolean) ?? errors[0]
  if (error) throw error
}
