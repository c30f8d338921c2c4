/** Port: sends a message to a webhook endpoint. Never throws for what the receiver does; none belongs in a transaction. */

interface WebhookMessage {
  /** the same in every try, so a receiver recognises a repeated message */
  id: string
  url: string
  body: string
  /** decrypted: the message is signed with each of them */
  secrets: readonly string[]
  sentAt: Date
}

/** `error`: a clause such as "answered 503"; it quotes no part of the answer. */
export type WebhookOutcome =
  | { kind: 'delivered'; answer: number }
  /** an answer that is not 2xx */
  | { kind: 'refused'; answer: number; error: string; retryAfterSeconds: number | null }
  /** no complete answer, or the address is not allowed */
  | { kind: 'unanswered'; error: string }

export interface WebhookSender {
  /** Why calls to this URL are refused, as a clause. Null: they are allowed. */
  refusal(url: string): string | null
  /** Takes at most WEBHOOK_TIMEOUT_MS. An aborted signal is `unanswered`. */
  send(message: WebhookMessage, signal?: AbortSignal): Promise<WebhookOutcome>
}

/** From the look-up of the host to the end of the answer. */
export const WEBHOOK_TIMEOUT_MS = 15_000
