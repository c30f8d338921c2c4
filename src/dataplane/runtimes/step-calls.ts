/** Tracks the running step calls of a runtime, so that a step that ignores its signal can be abandoned. */
export class StepCalls {
  readonly #inFlight = new Map<string, (error: Error) => void>()

  /** Settles like `work`, or rejects when the step is abandoned. `late` gets a result that arrives afterwards. */
  run<T>(
    stepId: string,
    work: () => Promise<T>,
    late: (result: T) => Promise<void> = async () => undefined,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      let abandoned = false
      const abandon = (error: Error) => {
        abandoned = true
        reject(error)
      }
      this.#inFlight.set(stepId, abandon)
      void work()
        .then(async (result) => (abandoned ? await late(result) : resolve(result)))
        .catch(reject)
        .finally(() => {
          if (this.#inFlight.get(stepId) === abandon) this.#inFlight.delete(stepId)
        })
    })
  }

  /** Rejects the step's call. The runtime ignores its later errors. */
  abandon(stepId: string): void {
    this.#inFlight.get(stepId)?.(new Error('The step ignored its stop and was abandoned'))
  }
}
