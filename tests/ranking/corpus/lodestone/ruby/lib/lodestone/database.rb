# frozen_string_literal: true

module Lodestone
  # One open database. Behaves like a Hash of strings where that makes sense.
  class Database
    def initialize(directory)
      handle = Fiddle::Pointer.malloc(Fiddle::SIZEOF_VOIDP, Fiddle::RUBY_FREE)
      Lodestone.check(Native.ls_open(directory.to_s, handle.ref))
      @handle = handle
      @mutex = Mutex.new
    end

    def [](key)
      value = Fiddle::Pointer.malloc(Fiddle::SIZEOF_VOIDP, Fiddle::RUBY_FREE)
      length = Fiddle::Pointer.malloc(Fiddle::SIZEOF_SIZE_T, Fiddle::RUBY_FREE)
      status = Lodestone.check(Native.ls_get(handle, Native.slice(key), value.ref, length))
      return nil if status == 1

      begin
        value[0, length[0, Fiddle::SIZEOF_SIZE_T].unpack1("J")]
      ensure
        Native.ls_free(value)
      end
    end

    def []=(key, value)
      Lodestone.check(Native.ls_put(handle, Native.slice(key), Native.slice(value)))
    end

    def fetch(key)
      self[key] || (block_given? ? yield(key) : raise(KeyError, "key not found: #{key.inspect}"))
    end

    def delete(key)
      self[key].tap { Lodestone.check(Native.ls_delete(handle, Native.slice(key))) }
    end

    # Collects writes in a block and applies them together.
    def batch
      batch = Batch.new
      yield batch
      batch.commit(handle)
    end

    def close
      @mutex.synchronize do
        Native.ls_close(@handle) if @handle
        @handle = nil
      end
    end

    def closed?
      @handle.nil?
    end

    private

    def handle
      @handle || raise(ClosedError, "the database is closed")
    end
  end
end
