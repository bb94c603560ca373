# frozen_string_literal: true

module Lodestone
  # Writes that happen together or not at all.
  class Batch
    def initialize
      @native = Native.ls_batch_new
      # The native side does not copy; these keep the strings alive until the commit.
      @held = []
    end

    def put(key, value)
      @held << key << value
      Native.ls_batch_put(@native, Native.slice(key), Native.slice(value))
      self
    end

    alias []= put

    def commit(handle)
      Lodestone.check(Native.ls_write(handle, @native))
      @held.clear
      nil
    end
  end
end
